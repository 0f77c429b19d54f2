#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc = include_str!("../README.md")]
//!
//! No loops and no tasks live here: values, codecs, maths, and one typed function for each Redis
//! script.
//!
//! - What a job is: [`job`], [`options`], [`args`], [`new_job`] (before the push), [`raw_job`]
//!   (as stored), [`payload_edit`], [`jid`].
//! - What becomes of it: [`failure`], [`retry`], [`unparseable`], [`digest`],
//!   [`locks`], [`formats`]; [`edit_distance`] for messages about misspelt names.
//! - When it is due again and again: `cron`, with the feature of that name.
//! - Redis: [`redis_config`], [`redis`], [`keys`], [`scripts`].

pub mod args;
#[cfg(feature = "cron")]
pub mod cron;
pub mod digest;
pub mod edit_distance;
pub mod failure;
pub mod formats;
pub mod jid;
pub mod job;
pub mod keys;
pub mod locks;
pub mod new_job;
pub mod options;
pub mod payload_edit;
pub mod raw_job;
pub mod redis;
pub mod redis_config;
pub mod retry;
pub mod scripts;
pub mod time;
pub mod unparseable;
