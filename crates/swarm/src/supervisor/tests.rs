//! The supervisor on a clock of the test's own.

mod anything;
mod recovery;
mod world;

use std::collections::BTreeSet;

use self::world::World;
use super::*;

const SECOND: Time = Duration::from_secs(1);

#[test]
fn no_worker_is_started_before_its_pause_is_over_and_one_right_after_swarm_06_p_43() {
    let mut world = World::new(1, false);
    // The length of the boot makes no difference.
    for (boot, pause) in [(0, 0), (15, 1), (0, 2), (90, 4), (15, 8), (0, 16), (0, 32), (15, 60), (0, 60)] {
        world.passes(SECOND * boot);
        world.ends(world.newest(), End::Failed);
        if pause > 0 {
            world.passes(SECOND * pause - Duration::from_millis(1));
            assert_eq!(world.ids(), [], "within {pause} s");
            world.passes(Duration::from_millis(1));
        }
        assert_eq!(world.ids().len(), 1, "after {pause} s");
    }
}

#[test]
fn a_worker_that_was_ready_for_30_s_begins_anew_swarm_07() {
    let mut world = World::new(1, false);
    for _ in 0..4 {
        world.ends(world.newest(), End::Failed);
        world.passes(SECOND * 10);
    }
    world.gets_ready(world.newest());
    world.passes(SECOND * 30);
    world.ends(world.newest(), End::Failed);
    assert_eq!(world.ids().len(), 1);
}

#[test]
fn each_place_has_pauses_of_its_own() {
    let mut world = World::ready(2, false);
    for _ in 0..3 {
        let worker = *world.alive.iter().find(|(_, it)| it.place == 0).expect("one in place 0").0;
        world.ends(worker, End::Failed);
        world.passes(SECOND * 2);
    }
    let other = *world.alive.iter().find(|(_, it)| it.place == 1).expect("one in place 1").0;
    world.ends(other, End::Failed);
    assert_eq!(world.ids().len(), 2);
}

#[test]
fn a_straggler_is_killed_once_after_35_s_and_others_may_take_their_time_swarm_09() {
    let mut world = World::ready(2, false);
    let [first, second] = world.ids()[..] else { panic!("two") };
    world.asked(Request::Stop(Signal::Term));
    world.passes(SECOND * 34);
    world.ends(first, End::Clean);
    assert_eq!(world.alive[&second].signals, [Signal::Term]);
    world.passes(SECOND);
    assert_eq!(world.alive[&second].signals, [Signal::Term, Signal::Kill]);
    world.passes(SECOND * 100);
    world.asked(Request::Stop(Signal::Term));
    assert_eq!(world.alive[&second].signals, [Signal::Term, Signal::Kill, Signal::Term]);
    assert!(world.exits.is_empty());
    world.ends(second, End::Failed);
    assert_eq!(world.exits, [false], "it was not clean");
}

#[test]
fn a_stop_in_any_state_ends_clean_when_all_workers_do() {
    for phased in [false, true] {
        let mut world = World::ready(3, phased);
        world.asked(Request::Restart);
        world.ends(*world.ids().last().expect("some"), End::Failed);
        world.asked(Request::Stop(Signal::Int));
        assert!(world.alive.values().all(|it| it.term_at.is_some()));
        world.leavers_end();
        assert_eq!(world.exits, [true]);
        assert_eq!(world.supervisor.next_wake(), None);
    }
}

#[test]
fn one_that_dies_of_the_signal_before_it_was_ready_ended_well() {
    for (ready, clean) in [(false, true), (true, false)] {
        let mut world = if ready { World::ready(1, false) } else { World::new(1, false) };
        world.asked(Request::Stop(Signal::Term));
        world.ends(world.newest(), End::Signalled);
        assert_eq!(world.exits, [clean]);
    }
}

#[test]
fn a_phased_restart_goes_on_only_when_the_new_one_is_ready_swarm_03() {
    let mut world = World::ready(4, true);
    let old: BTreeSet<_> = world.ids().into_iter().collect();
    world.asked(Request::Restart);
    for round in 0..4 {
        assert_eq!((world.ids().len(), world.working()), (5, 4), "round {round}");
        world.passes(SECOND * 200);
        assert_eq!((world.ids().len(), world.working()), (5, 4), "round {round}");
        world.gets_ready(world.newest());
        world.leavers_end();
        assert_eq!(world.working(), 4);
    }
    assert_eq!(world.ids().len(), 4);
    assert!(old.is_disjoint(&world.ids().into_iter().collect()));
    assert_eq!(world.noted(|note| matches!(note, Note::RestartOver { .. })), 1);
    assert!(!world.status.restarting && world.status.ready == 4);
}

#[test]
fn a_new_program_that_fails_or_is_late_ends_the_restart_and_nobody_is_replaced() {
    for late in [false, true] {
        let mut world = World::ready(3, true);
        let old = world.ids();
        world.asked(Request::Restart);
        if late {
            world.passes(SECOND * 300);
            world.leavers_end();
        } else {
            world.ends(world.newest(), End::Failed);
        }
        world.passes(SECOND * 1000);
        assert_eq!(world.ids(), old);
        assert_eq!(world.working(), 3);
        let given_up = |note: &Note| matches!(note, Note::ReplacementFailed { late: was, replaced: 0, kept: 3, .. } if *was == late);
        assert_eq!(world.noted(given_up), 1);
        assert!(!world.status.restarting);
    }
}

#[test]
fn a_failure_in_the_middle_keeps_who_is_there_and_the_pause_holds_where_nobody_is() {
    let mut world = World::ready(3, true);
    world.asked(Request::Restart);
    world.gets_ready(world.newest());
    world.leavers_end();
    // The old one of the place dies while its successor boots, which then fails too.
    let incoming = world.newest();
    let place = world.alive[&incoming].place;
    let old = *world.alive.iter().find(|(id, it)| it.place == place && **id != incoming).expect("old").0;
    world.ends(old, End::Failed);
    assert_eq!(world.ids().len(), 3, "the successor is under way already");
    world.ends(incoming, End::Failed);
    assert_eq!(world.noted(|note| matches!(note, Note::ReplacementFailed { replaced: 1, kept: 2, .. })), 1);
    assert_eq!(world.ids().len(), 2);
    world.passes(SECOND);
    assert_eq!(world.ids().len(), 3);
}

#[test]
fn restarts_that_are_asked_for_meanwhile_make_one_more() {
    let mut world = World::ready(2, true);
    world.asked(Request::Restart);
    for _ in 0..5 {
        world.asked(Request::Restart);
    }
    let mut started = 0;
    while world.status.restarting {
        world.gets_ready(world.newest());
        world.leavers_end();
        started += 1;
    }
    assert_eq!(started, 4);
    assert_eq!(world.noted(|note| *note == Note::RestartFollows), 1);
}

#[test]
fn leavers_that_take_their_time_hold_a_further_restart_up_and_not_the_first() {
    let mut world = World::ready(2, true);
    world.asked(Request::Restart);
    world.asked(Request::Restart);
    world.gets_ready(world.newest());
    world.gets_ready(world.newest());
    // Both old ones are still at work.
    assert_eq!((world.ids().len(), world.working()), (4, 2));
    world.passes(SECOND * 34);
    assert_eq!(world.ids().len(), 4);
    world.leavers_end();
    assert_eq!(world.ids().len(), 3);
}

#[test]
fn a_restart_that_is_asked_for_while_another_one_fails_follows() {
    // What was deployed in between may be the cure.
    for late in [false, true] {
        let mut world = World::ready(2, true);
        let old: BTreeSet<_> = world.ids().into_iter().collect();
        world.asked(Request::Restart);
        world.asked(Request::Restart);
        if late {
            world.passes(SECOND * 300);
        } else {
            world.ends(world.newest(), End::Failed);
        }
        assert_eq!(world.noted(|note| matches!(note, Note::ReplacementFailed { .. })), 1);
        assert!(world.status.restarting);
        for _ in 0..2 {
            world.leavers_end();
            world.gets_ready(world.newest());
        }
        world.leavers_end();
        assert!(old.is_disjoint(&world.ids().into_iter().collect()), "late: {late}");
        assert!(!world.status.restarting && world.working() == 2);
    }
}

#[test]
fn without_phases_another_restart_replaces_a_new_program_that_hangs_or_fails() {
    // Asked for after the old ones were gone, and while one of them still was there.
    for (early, end) in [(false, None), (true, Some(End::Failed))] {
        let mut world = World::ready(2, false);
        let [first, second] = world.ids()[..] else { panic!("two") };
        world.asked(Request::Restart);
        world.ends(first, End::Clean);
        if early {
            world.asked(Request::Restart);
        }
        let mut new = vec![world.newest()];
        match end {
            Some(end) => world.ends(new[0], end),
            None => {
                world.ends(second, End::Clean);
                new.push(world.newest());
                world.passes(SECOND * 1000);
                world.asked(Request::Restart);
            }
        }
        world.leavers_end();
        world.all_get_ready();
        assert_eq!(world.working(), 2);
        assert!(!world.ids().iter().any(|id| new.contains(id)), "{:?}", world.ids());
        assert!(!world.status.restarting);
    }
}

#[test]
fn without_phases_a_place_is_filled_when_its_worker_is_gone() {
    let mut world = World::ready(2, false);
    let [first, second] = world.ids()[..] else { panic!("two") };
    for _ in 0..3 {
        world.asked(Request::Restart);
    }
    assert_eq!((world.ids().len(), world.working()), (2, 0));
    world.ends(first, End::Clean);
    assert_eq!(world.ids().len(), 2);
    world.passes(SECOND * 35);
    assert!(world.alive[&second].signals.contains(&Signal::Kill));
    world.ends(second, End::Failed);
    assert_eq!(world.told, [], "nobody is ready to recover what it held");
    world.gets_ready(world.newest());
    assert_eq!(world.told.len(), 2);
}

#[test]
fn a_quiet_swarm_starts_quiet_workers_until_it_is_restarted() {
    let mut world = World::ready(1, true);
    world.asked(Request::Quiet);
    assert_eq!(world.alive[&world.newest()].signals, [Signal::Tstp]);
    world.ends(world.newest(), End::Failed);
    assert!(world.alive[&world.newest()].quiet);
    world.gets_ready(world.newest());
    world.asked(Request::Restart);
    assert!(!world.alive[&world.newest()].quiet);
    // Given up, it is what it was.
    world.ends(world.newest(), End::Failed);
    world.ends(world.newest(), End::Failed);
    world.passes(SECOND * 100);
    assert!(world.alive[&world.newest()].quiet);
}

#[test]
fn a_signal_that_comes_during_the_start_is_passed_on_when_it_is_ready() {
    let mut world = World::new(1, false);
    for _ in 0..2 {
        world.asked(Request::Forward(Signal::Hup));
        world.asked(Request::Quiet);
    }
    assert_eq!(world.alive[&world.newest()].signals, []);
    world.gets_ready(world.newest());
    assert_eq!(world.alive[&world.newest()].signals, [Signal::Hup, Signal::Tstp]);
}

#[test]
fn a_worker_above_its_memory_limit_is_replaced_gracefully_and_not_ever_faster() {
    let mut world = World::ready(2, false);
    let mut replaced = 0;
    let begun = world.now;
    while world.now < begun + SECOND * 120 {
        for worker in world.ids() {
            world.happens(Event::Memory { worker, kb: 1000 });
        }
        let first = world.ids()[0];
        world.happens(Event::Memory { worker: first, kb: 1001 });
        if world.ids().len() > 2 {
            assert_eq!((world.ids().len(), world.working()), (3, 2), "the new one is started first");
            world.gets_ready(world.newest());
            world.leavers_end();
            replaced += 1;
        }
        world.passes(SECOND);
    }
    assert!((4..=20).contains(&replaced), "{replaced}");
    assert_eq!(world.working(), 2);
}
