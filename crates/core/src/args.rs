//! The args codec: a typed job value to and from the JSON array that is its args.
//!
//! Only the outermost type is special. A tuple struct, tuple, newtype or sequence is positional
//! (`struct Greeting(String)` is `["world"]`); a struct with named fields, or a map, is one
//! object (`[{"name":"world"}]`); unit is `[]`; anything else is one argument. A type that takes
//! what is there (an untagged enum, a JSON value) takes a lone argument that is no array as itself.
//!
//! ```
//! use cogworker_core::args;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, PartialEq, Debug)]
//! struct Resize(String, u32);
//!
//! let json = args::encode(&Resize("cat.png".into(), 64))?;
//! assert_eq!(json.get(), r#"["cat.png",64]"#);
//! assert_eq!(args::decode::<Resize>("ResizeJob", json.get())?, Resize("cat.png".into(), 64));
//!
//! let error = args::decode::<Resize>("ResizeJob", r#"["cat.png","big"]"#).unwrap_err();
//! assert_eq!(error.to_string(), r#"ResizeJob argument 2: invalid type: string "big", expected u32"#);
//! # Ok::<(), args::ArgsError>(())
//! ```

mod decode;
mod encode;
mod error;
mod finite;

pub use decode::decode;
pub use encode::encode;
pub use error::ArgsError;
