//! Whatever happens, in any order.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::*;
use super::SECOND;
use super::world::World;

/// One random thing that may happen.
#[derive(Debug, Clone)]
enum Step {
    Passes(u64),
    GetsReady(usize),
    Ends(usize, bool),
    Memory(usize),
    Recovered(usize),
    Restart,
    Quiet,
    Hup,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..40_000u64).prop_map(Step::Passes),
        6 => any::<usize>().prop_map(Step::GetsReady),
        4 => (any::<usize>(), any::<bool>()).prop_map(|(which, clean)| Step::Ends(which, clean)),
        1 => any::<usize>().prop_map(Step::Memory),
        2 => any::<usize>().prop_map(Step::Recovered),
        2 => Just(Step::Restart),
        1 => Just(Step::Quiet),
        1 => Just(Step::Hup),
    ];
    proptest::collection::vec(step, 0..120)
}

proptest! {
    /// Beside what [`World`] itself checks at each command.
    #[test]
    fn whatever_happens_places_stay_bounded_are_filled_again_and_all_end(
        count in 1..5usize,
        phased: bool,
        steps in steps(),
    ) {
        let mut world = World::new(count, phased);
        for step in steps {
            let pick = |world: &World, which: usize| {
                let ids = world.ids();
                ids.get(which.checked_rem(ids.len())?).copied()
            };
            match step {
                Step::Passes(milliseconds) => world.passes(Duration::from_millis(milliseconds)),
                Step::GetsReady(which) => {
                    if let Some(worker) = pick(&world, which) {
                        world.gets_ready(worker);
                    }
                }
                Step::Ends(which, clean) => {
                    if let Some(worker) = pick(&world, which) {
                        world.ends(worker, if clean { End::Clean } else { End::Failed });
                    }
                }
                Step::Memory(which) => {
                    if let Some(worker) = pick(&world, which) {
                        world.happens(Event::Memory { worker, kb: 2000 });
                    }
                }
                Step::Recovered(which) => {
                    if let Some(at) = which.checked_rem(world.told.len()) {
                        let (_, identity) = world.told[at].clone();
                        world.happens(Event::Recovered { identity });
                    }
                }
                Step::Restart => world.asked(Request::Restart),
                Step::Quiet => world.asked(Request::Quiet),
                Step::Hup => world.asked(Request::Forward(Signal::Hup)),
            }
            prop_assert!(world.ids().len() <= 2 * count + 1, "{} of {count}", world.ids().len());
            let staying = world.alive.values().filter(|it| it.term_at.is_none());
            let mut places = BTreeMap::new();
            staying.for_each(|it| *places.entry(it.place).or_insert(0) += 1);
            prop_assert!(places.values().all(|workers| *workers <= 2));
            prop_assert!(places.values().filter(|workers| **workers == 2).count() <= 1, "two at a time");
        }
        // Left alone, with workers that behave, every place is filled and nothing is under way.
        for _ in 0..10 * count {
            world.passes(SECOND * 61);
            world.leavers_end();
            world.all_get_ready();
        }
        prop_assert_eq!(world.working(), count);
        prop_assert_eq!(world.ids().len(), count);
        prop_assert!(!world.status.restarting);
        prop_assert_eq!(world.status.ready, count);
        world.asked(Request::Stop(Signal::Term));
        world.leavers_end();
        prop_assert_eq!(&world.exits, &[true]);
    }
}
