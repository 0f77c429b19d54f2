//! The web UI in a real Chromium, against a real server, Redis and workers.
//!
//! One process for all of them, so that they share a few browsers: `cargo test -p cogworker-browser-tests`. A failed
//! one leaves a picture in `target/browser-failures`. Without Chromium all are skipped, in CI they fail.

mod accessible;
mod actions;
mod charts;
mod frame;
mod history;
mod jobs;
mod keyboard;
mod live;
mod outages;
mod policy;
mod stage;
mod times;
mod vendored;
mod widths;
mod without_scripts;
mod workers;

use std::process::ExitCode;

use cogworker_browser_tests::{Scripts, is_installed};
use libtest_mimic::{Arguments, Trial};

use crate::stage::trial;

/// One trial for each function, named by its path.
macro_rules! trials {
    ($scripts:expr; $($module:ident { $($name:ident),* $(,)? })*) => {
        vec![$($(trial(
            concat!(stringify!($module), "::", stringify!($name)),
            $scripts,
            |stage| Box::pin($module::$name(stage)),
        )),*),*]
    };
}

fn all() -> Vec<Trial> {
    let mut all = trials! {
        Scripts::On;
        // What waits for heartbeats and for a minute's work comes first: the others run beside it.
        workers {
            quiet_and_resume_by_button_stay_on_the_page_and_labels_follow_the_beat_webx_01,
            a_stop_asks_first_and_the_process_goes,
            a_run_that_is_far_over_its_usual_time_turns_amber_and_says_so,
            runs_of_a_real_worker_show_by_themselves_webx_04_webx_15,
        }
        accessible {
            axe_finds_nothing_on_overview_and_jobs_in_both_themes_and_on_a_phone,
            axe_finds_nothing_on_all_other_tabs_in_both_themes_and_on_a_phone,
            axe_finds_nothing_on_pages_without_rows,
            axe_finds_nothing_on_pages_of_errors_and_outages,
            axe_finds_nothing_in_dialogs_menus_and_messages,
            axe_finds_nothing_where_more_is_offered,
        }
        actions {
            each_action_on_queues_says_what_it_did_with_scripts,
            each_action_on_jobs_says_what_it_did_with_scripts,
            each_action_on_schedules_and_workers_says_what_it_did_with_scripts,
            a_cancelled_question_changes_nothing_and_gives_the_focus_back,
            what_comes_while_it_is_asked_stays,
            a_text_that_is_typed_and_not_sent_counts_before_all_are_treated_and_with_a_filter,
            the_counts_beside_schedules_agree_after_an_action,
            a_second_click_while_the_first_one_runs_is_none,
            a_failed_action_says_so,
        }
        charts {
            a_chart_updates_in_place_webx_02,
            a_period_changes_only_its_chart_webx_03,
            a_switch_of_the_theme_recolours_the_charts,
        }
        frame {
            the_live_button_flips_its_label_and_the_pages_flag_webx_10,
            the_width_button_flips_class_and_label_and_survives_webx_11,
            the_theme_button_switches_at_once_and_survives,
            the_pill_is_low_and_the_filter_narrow_webx_08,
        }
        history {
            the_error_of_a_run_opens_a_dialog_and_success_hides_failures_webx_07,
            the_second_page_is_fetched_when_it_is_asked_for_webx_14,
            new_runs_appear_in_the_grid_while_it_is_live_and_not_otherwise_webx_15,
            the_grids_filters_order_and_page_stand_in_the_address_and_come_back,
            the_grid_filters_and_sorts_on_the_server,
        }
        jobs {
            delete_and_retry_update_in_place_webx_05,
            ticked_rows_are_counted_and_acted_on_together,
            what_was_stopped_in_the_middle_is_gone_on_with_by_its_button,
        }
        keyboard {
            tab_reaches_every_control_of_every_page,
            arrows_and_enter_work_in_the_grid_and_tab_leaves_it,
            single_keys_move_open_select_and_act_and_can_be_switched_off,
        }
        live {
            a_new_job_shows_without_a_reload,
            an_update_touches_no_typed_text_focus_or_filter,
            an_update_touches_no_selection_scroll_or_open_panel,
            rows_that_come_above_what_is_looked_at_wait_behind_a_link,
            a_list_that_changed_whole_is_not_replaced_under_the_hand,
            an_update_touches_no_open_menu_or_ticked_row,
            a_hidden_tab_asks_for_nothing,
        }
        outages {
            a_lost_redis_shows_a_banner_which_goes_when_it_is_back,
            a_lost_connection_shows_a_banner_which_goes_when_it_is_back,
            the_page_of_an_outage_comes_back_by_itself,
        }
        policy { nothing_is_refused_or_broken_on_any_page }
        times {
            times_are_written_in_the_browsers_zone_webx_06,
            durations_in_the_grid_are_exact_and_short_webx_09,
        }
        widths {
            no_page_scrolls_sideways_at_any_width,
            the_current_tab_is_in_view_on_a_phone,
            a_narrow_window_keeps_the_header_webx_12,
            a_wide_block_does_not_widen_the_header_webx_13,
        }
    };
    all.extend(trials! {
        Scripts::Off;
        actions {
            each_action_on_queues_says_what_it_did_without_scripts,
            each_action_on_jobs_says_what_it_did_without_scripts,
            each_action_on_schedules_and_workers_says_what_it_did_without_scripts,
        }
        without_scripts {
            every_tab_shows_its_rows,
            searches_filters_pages_layouts_and_periods_are_links_and_forms,
            charts_and_history_are_tables,
            theme_and_width_are_kept,
            nothing_scrolls_sideways_on_a_phone,
        }
    });
    all.push(Trial::test("vendored::the_checker_is_the_one_that_was_written_down", || {
        vendored::the_checker_is_the_one_that_was_written_down().map_err(|error| error.to_string().into())
    }));
    all
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    if !arguments.list && !is_installed() {
        eprintln!(
            "\n!!! There is no chromium or no chromedriver on PATH: the browser tests are SKIPPED !!!\n"
        );
        let in_ci = std::env::var_os("CI").is_some();
        return if in_ci { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    // More browsers than processors only make each other slow.
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    arguments.test_threads.get_or_insert(processors.clamp(1, 4));
    let conclusion = libtest_mimic::run(&arguments, all());
    stage::close();
    conclusion.exit_code()
}
