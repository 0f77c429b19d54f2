#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc = include_str!("../README.md")]
//!
//! No loops and no tasks live here: values, codecs, maths, and one typed function for each Redis
//! script.
//!
//! - What a job is: [`job`], [`options`], [`args`], [`new_job`] (before the push), [`raw_job`] (as stored), [`jid`].
//! - What becomes of it: [`failure`], [`retry`], [`formats`].
//! - When it is due again and again: `cron`, with the feature of that name.
//! - Redis: [`redis_config`], [`redis`], [`keys`].
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
pub mod raw_job;
pub mod redis;
pub mod redis_config;
pub mod retry;
#[doc(hidden)]
pub mod scripts;
pub mod time;
#[doc(hidden)]
pub mod unparseable;
