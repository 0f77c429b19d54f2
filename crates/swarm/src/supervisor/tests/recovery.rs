//! Who recovers what a dead worker held.

use super::*;

#[test]
fn what_a_dead_worker_held_is_recovered_by_a_ready_one_and_by_another_if_that_dies() {
    let mut world = World::ready(3, false);
    let [first, ..] = world.ids()[..] else { panic!("three") };
    world.ends(first, End::Failed);
    let (second, dead) = world.told[0].clone();
    assert_eq!(dead, format!("id-{}", first.0));
    world.ends(second, End::Failed);
    // Both dead ones are given to whoever is left.
    let third = world.told[1].0;
    let mut now_told: Vec<_> = world.told[1..].iter().map(|(worker, dead)| (*worker, dead.clone())).collect();
    now_told.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(now_told, [(third, dead.clone()), (third, format!("id-{}", second.0))]);
    world.happens(Event::Recovered { identity: dead.clone() });
    world.ends(third, End::Failed);
    world.all_get_ready();
    assert!(!world.told[3..].iter().any(|(_, identity)| *identity == dead), "recovered twice");
    assert_eq!(world.told.len(), 5);
}

#[test]
fn what_a_worker_does_not_recover_in_time_another_one_is_told_of() {
    let mut world = World::ready(3, false);
    world.ends(world.ids()[0], End::Failed);
    world.all_get_ready();
    let first = world.told[0].clone();
    world.happens(Event::Recovers { worker: first.0, identity: first.1.clone() });
    world.passes(SECOND * 89);
    assert_eq!(world.told.len(), 1);
    world.passes(SECOND);
    assert_eq!(world.told.len(), 2);
    assert!(world.told[1].0 != first.0 && world.told[1].1 == first.1, "{:?}", world.told);
    // Whoever it was: it is done.
    world.happens(Event::Recovered { identity: first.1 });
    world.passes(SECOND * 1000);
    assert_eq!(world.told.len(), 2);
}

#[test]
fn when_a_worker_does_not_even_answer_another_one_is_told_soon() {
    let mut world = World::ready(3, false);
    world.ends(world.ids()[0], End::Failed);
    let first = world.told[0].clone();
    world.passes(SECOND * 3);
    assert_eq!(world.told.len(), 2);
    assert!(world.told[1].0 != first.0 && world.told[1].1 == first.1, "{:?}", world.told);
    // One that is all alone is not told ever more often.
    let mut world = World::ready(1, false);
    world.ends(world.newest(), End::Failed);
    world.all_get_ready();
    world.passes(SECOND * 60);
    assert_eq!(world.told.len(), 2);
}

#[test]
fn what_a_worker_held_is_recovered_whatever_its_exit_code_was() {
    // A job may end its process with code 0.
    for end in [End::Clean, End::Signalled, End::Failed] {
        let mut world = World::ready(2, false);
        let [first, second] = world.ids()[..] else { panic!("two") };
        world.ends(second, end);
        assert_eq!(world.told, [(first, format!("id-{}", second.0))]);
    }
}

#[test]
fn what_a_worker_that_is_told_to_stop_was_to_recover_another_one_is_told_of_at_once() {
    let mut world = World::ready(3, true);
    world.ends(world.newest(), End::Failed);
    let (first, dead) = world.told[0].clone();
    world.asked(Request::Restart);
    while world.alive[&first].term_at.is_none() {
        world.gets_ready(world.newest());
    }
    // It may still have running jobs for long.
    let again: Vec<_> = world.told[1..].iter().filter(|(_, it)| *it == dead).collect();
    assert!(again.len() == 1 && again[0].0 != first, "{:?}", world.told);
}

#[test]
fn at_the_end_only_those_are_named_whose_jobs_nobody_recovers() {
    let mut world = World::ready(2, false);
    let [first, second] = world.ids()[..] else { panic!("two") };
    world.ends(first, End::Failed);
    world.asked(Request::Stop(Signal::Term));
    // One is stopped while it starts, one had given everything back.
    world.ends(world.newest(), End::Signalled);
    world.ends(second, End::Clean);
    assert_eq!(world.exits, [true]);
    let identity = format!("id-{}", first.0);
    assert_eq!(world.noted(|note| *note == Note::NoOneRecovers { identity: identity.clone() }), 1);
    assert_eq!(world.noted(|note| matches!(note, Note::NoOneRecovers { .. })), 1);
}
