#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc = include_str!("../README.md")]
//!
//! No loops and no tasks live here: values, codecs, maths, and one typed function for each Redis
//! script.
//!
//! - What a job is: [`job`], [`options`], [`args`], [`new_job`] (before the push), [`raw_job`] (as stored), [`jid`].
//! - When: [`time`], the points in time that jobs carry.
#![cfg_attr(feature = "cron", doc = "- When it is due again and again: [`cron`].")]
#![cfg_attr(
    not(feature = "cron"),
    doc = "- When it is due again and again: `cron`, with the feature of that name."
)]
//! - What becomes of it: [`failure`], [`retry`], [`formats`], and [`history_limits`] of what is kept.
//! - What a queue or a set holds, in parts: [`page`].
//! - Redis: [`redis_config`], [`redis`], [`keys`].
//!
//! # Features
//!
//! - `cron`, off by default: when periodic entries are due, with the time zones' rules. Workers need it, a program that only
//!   pushes does not.
//!
//! The modules that the documentation does not show, the scripts among them, are for Cogworker's other crates alone: they
//! may change in any release.

pub mod args;
#[cfg(feature = "cron")]
pub mod cron;
#[doc(hidden)]
pub mod digest;
#[doc(hidden)]
pub mod edit_distance;
pub mod failure;
pub mod formats;
pub mod history_limits;
pub mod jid;
pub mod job;
pub mod keys;
#[doc(hidden)]
pub mod locks;
pub mod new_job;
pub mod options;
pub mod page;
#[doc(hidden)]
pub mod payload_edit;
#[doc(hidden)]
pub mod queue_name;
pub mod raw_job;
pub mod redis;
pub mod redis_config;
pub mod retry;
#[doc(hidden)]
pub mod scripts;
pub mod time;
#[doc(hidden)]
pub mod unparseable;
