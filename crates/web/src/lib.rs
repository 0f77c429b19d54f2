#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc = include_str!("../README.md")]
//!
//! [`router`] nests under any prefix. Who may see it is the host's business: put a layer around it. It refuses
//! requests that other sites make, sends a strict content security policy, and every answer is bounded,
//! however many jobs there are.
//!
//! - [`WebOptions`]: what can be set.
//! - [`Ui`]: the request as pages see it; [`Extension`]: tabs of the host's own, in this frame.
//! - [`Operator`]: who acts, for the log; [`CsrfRule`]: who may.
//! - [`Session`], [`SessionLayer`]: a signed cookie for layers and extensions that want one.
//!
//! A tab is one module in `routes/`, one template of the same name with a block `live`, and a
//! view that joins them.

/// The samples of the guide, which are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/web.md")]
struct Guide;

mod assets;
mod confirm;
mod csrf;
mod days_back;
mod display;
mod error;
mod extension;
mod failures;
mod form;
mod frame;
mod kept;
mod live;
mod markup;
mod message;
mod operator;
mod options;
mod orders;
mod pager;
mod preferences;
mod rejection;
mod router;
mod routes;
mod run_times;
mod schedule_runs;
mod session;
mod shared;
mod time_format;
mod ui;
mod view;

pub use csrf::{CsrfRule, CsrfVerdict};
pub use extension::{Extension, ExtensionPathError};
pub use markup::Markup;
pub use operator::Operator;
pub use options::WebOptions;
pub use preferences::Theme;
pub use rejection::UiRejection;
pub use router::router;
pub use session::{Session, SessionLayer, SessionSecret, SessionSecretError, SessionService};
pub use time_format::{TimeFormat, TimeFormatError};
pub use ui::Ui;
