//! What is shared by the threads of a test.

use cogworker_testing::{
    Fake, FakeError, FaultProxy, Inline, RespError, SignalError, TestCluster, TestRedis, TestRedisError,
    TestSentinel, WorkerProcess, WorkerProcessError,
};

const fn crosses_threads<T: Send + Sync + 'static>() {}
const fn moves<T: Send + 'static>() {}

/// Checked when this is compiled: servers may stand in statics, errors go into boxes of any kind.
#[test]
fn harnesses_and_errors_cross_threads() {
    crosses_threads::<Fake>();
    crosses_threads::<FakeError>();
    crosses_threads::<FaultProxy>();
    crosses_threads::<Inline>();
    crosses_threads::<RespError>();
    crosses_threads::<SignalError>();
    crosses_threads::<TestCluster>();
    crosses_threads::<TestRedis>();
    crosses_threads::<TestRedisError>();
    crosses_threads::<TestSentinel>();
    crosses_threads::<WorkerProcessError>();
    moves::<WorkerProcess>();
}
