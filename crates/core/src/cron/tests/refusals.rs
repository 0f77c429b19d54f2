//! What is no cron is refused at once, and the message helps.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn refused(text: &str) -> CronError {
    Cron::parse(text).err().unwrap_or_else(|| panic!("{text:?} was accepted"))
}

#[test]
fn a_refusal_names_the_text_the_part_what_was_expected_and_found_and_a_way_out() {
    let error = refused("0 0 0 * * MON-SUM Europe/Berlin");
    assert_eq!(
        error.to_string(),
        "cron \"0 0 0 * * MON-SUM Europe/Berlin\": days of week: expected 0 to 7 or sun to sat, found \"MON-SUM\""
    );
    let error = refused("0 9 * * * europe/berlin");
    assert_eq!((error.text(), error.part()), ("0 9 * * * europe/berlin", CronPart::Zone));
    assert_eq!(error.expected(), "an IANA zone such as Europe/Berlin");
    assert_eq!((error.found(), error.hint()), ("\"europe/berlin\"", Some("write Europe/Berlin")));
}

#[test]
fn what_other_crons_know_or_a_slip_makes_is_refused_with_a_hint() {
    for (text, part, hint) in [
        ("*/0 * * * *", CronPart::Minutes, "write * for each"),
        ("*/90 * * * *", CronPart::Minutes, "steps begin anew"),
        ("every 90 minutes", CronPart::Minutes, "steps begin anew"),
        ("0 */25 * * *", CronPart::Hours, "steps begin anew"),
        ("* * * * * * *", CronPart::Fields, "years are not supported"),
        ("0 0 0 1 1 * 2030 UTC", CronPart::Fields, "years are not supported"),
        ("0 9 * *", CronPart::Fields, "write * for a field"),
        ("@reboot", CronPart::Nickname, "where the program starts"),
        ("@Daily", CronPart::Nickname, "write @daily"),
        ("0 0 ? * mon", CronPart::DaysOfMonth, "write * where any will do"),
        ("0 0 15W * *", CronPart::DaysOfMonth, "nearest weekdays"),
        ("0 0 -2 * *", CronPart::DaysOfMonth, "before the last one"),
        ("0 0 * * mon%2", CronPart::DaysOfWeek, "every second week"),
        ("0 0 1-7& * mon", CronPart::DaysOfMonth, "joined by or"),
        ("0 0 * * mon/2", CronPart::DaysOfWeek, "mon-sat/2"),
        ("0 9 * * * Berlin", CronPart::Zone, "write Europe/Berlin"),
        ("0 9 * * * +09:00", CronPart::Zone, "Etc/GMT-9"),
        ("0 0 30 2 *", CronPart::DaysOfMonth, "never comes"),
        ("every 2 hours at 10", CronPart::Phrase, "write the five fields"),
        ("every 2 weeks", CronPart::Phrase, "check the date"),
        ("every day at 8:00 and 17:30", CronPart::TimeOfDay, "one entry for each"),
    ] {
        let error = refused(text);
        assert_eq!(error.part(), part, "{error}");
        assert!(error.hint().is_some_and(|known| known.contains(hint)), "{error}");
    }
}

#[test]
fn anything_else_is_refused() {
    for text in [
        "",
        " ",
        "*",
        "60 * * * *",
        "-1 * * * *",
        "0 25 * * *",
        "0 0 0 * *",
        "0 0 32 * *",
        "0 0 * 0 *",
        "0 0 * 13 *",
        "0 0 * * 8",
        "0 0 * * 5L",
        "0 0 * * mon#0",
        "0 0 * * mon#6",
        "0 0 * * mon#-2",
        "0 0 * * mon#2-3",
        "a b c d e",
        "*-5 * * * *",
        "1- * * * *",
        "1-2-3 * * * *",
        ", * * * *",
        "1,, * * * *",
        "1/ * * * *",
        "1//2 * * * *",
        "1.5 * * * *",
        "+1 * * * *",
        "1/+2 * * * *",
        "٣ * * * *",
        "0 0 L/2 * *",
        "0 0 -3--1 * *",
        "0 9 * * * Mars/Base",
        "@",
        "@daily Mars/Base",
        "@daily UTC UTC",
        "@ 0",
        "every",
        "every moon",
        "every 0 minutes",
        "every day at",
        "every day at 25",
        "every day at 9:5",
        "every day at 13pm",
        "every day at 0am",
        "every day at noon or",
        "every monday-",
        "every monday and",
        "every 5 mondays",
        "every 5",
        "every day in",
        "every day in Mars",
        "every day at noon in",
        "every week on monday",
        "1h",
        "at noon",
        "noon",
        "2030-01-01",
        "0 0 * * * UTC UTC",
        "0 0 0 0 0 0 0 0 0 0",
        "99999999999999999999 * * * *",
        "*/99999999999999999999 * * * *",
    ] {
        let error = refused(text);
        assert!(!error.expected().is_empty() && !error.found().is_empty(), "{error}");
    }
}

#[test]
fn days_that_no_month_has_are_refused_quickly_and_others_are_not() {
    let start = Instant::now();
    for text in ["0 0 30 2 *", "0 0 31 2 *", "0 0 31 apr,jun *", "0 0 30,31 2 * Asia/Kolkata", "0 0 30 2 mon"]
    {
        assert_eq!(refused(text).hint(), Some("such a cron never comes"), "{text}");
    }
    for text in ["0 0 29 2 *", "0 0 31 1,2 *", "0 0 L 2 *", "0 0 * 2 mon#5", "0 0 L,30 2 *"] {
        cron(text);
    }
    assert!(start.elapsed() < Duration::from_secs(2), "took {:?}", start.elapsed());
}

#[test]
fn a_text_too_long_to_be_a_cron_is_refused_and_cut_in_the_message() {
    let error = refused(&"é,".repeat(1_000_000));
    assert!(error.text().chars().count() <= 1000);
    assert_eq!(error.found(), "3000000 bytes");
    let minutes: Vec<String> = (0..60).map(|minute| minute.to_string()).collect();
    cron(&format!("{0} {0} * * * * America/Argentina/ComodRivadavia", minutes.join(",")));
}

proptest! {
    #[test]
    fn no_text_makes_parsing_panic(text in any::<String>()) {
        let _ = Cron::parse(&text);
    }

    #[test]
    fn no_text_of_the_signs_of_crons_panics_and_what_is_accepted_has_slots(
        text in "(@|every )?[-0-9*/,#%?LlWw:+& ]{0,6}((mon|sun|jan|day|at|am|noon|and|to|s|UTC|Z|[-0-9*/,#L ]{1,4}) ?){0,7}",
        now in -1e10..1e10,
    ) {
        if let Ok(cron) = Cron::parse(&text) {
            let now = EpochSeconds::new(now);
            let (previous, next) = (cron.previous(now).unwrap(), cron.next(now).unwrap());
            prop_assert!(previous as f64 <= now.as_f64() && now.as_f64() < next as f64);
        }
    }
}
