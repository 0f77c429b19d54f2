//! What is shared by the threads of a web app.

use cogworker_web::{
    CsrfRule, Extension, Operator, Session, SessionLayer, SessionSecret, SessionSecretError, TimeFormatError,
    Ui, WebOptions,
};

const fn crosses_threads<T: Send + Sync + 'static>() {}

/// Checked when this is compiled: all of it stands in an app's state or in a request.
#[test]
fn options_requests_and_errors_cross_threads() {
    crosses_threads::<CsrfRule>();
    crosses_threads::<Extension>();
    crosses_threads::<Operator>();
    crosses_threads::<SessionSecretError>();
    crosses_threads::<Session>();
    crosses_threads::<SessionLayer>();
    crosses_threads::<SessionSecret>();
    crosses_threads::<Ui>();
    crosses_threads::<TimeFormatError>();
    crosses_threads::<WebOptions>();
}
