//! Jobs without Redis: `Fake`, `Inline` and what belongs to them. Nothing here starts a server.

mod assertions;
mod contexts;
mod failures;
mod fake;
mod inline;
mod isolation;
mod support;
mod threads;
