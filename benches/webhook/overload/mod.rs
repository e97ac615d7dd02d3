//! What good clients get while a webhook is asked for more than it can do, or crowded by idle connections.
//!
//! The webhook is pinned to one core and the load to another; a run in which the load took more processor time
//! than the webhook is an error, for then it was the load that was overloaded. Not here: how much the
//! webhook can do (`throughput`), and what idle connections cost in memory (`memory`).

mod asker;
mod crowd_run;
mod flood;
mod hands;
mod idle_connections;
mod pace;

use std::sync::Arc;

use crate::measured::Measured;
use crate::plane::{Peers, Plane, persona};
use crate::serving::{Keys, Pinning, Server};
use crate::tools;
use crate::wire::Target;
use asker::Question;

/// A webhook and who asks it.
#[derive(Debug)]
struct Field {
    server: Server,
    target: Target,
    /// The core of the load.
    core: usize,
    /// A review that is judged from what it says.
    allowed: Arc<Question>,
    /// A review whose verdict waits for a live read.
    denied: Arc<Question>,
}

/// Measures all of it on one webhook, which must not notice in the end.
pub(crate) fn measure() -> Result<Measured, String> {
    let cores = tools::cores()?;
    let plane = Plane::start(Peers::Alone)?;
    let keys = Keys::create(&plane)?;
    let kubeconfig = plane.kubeconfig(persona::BINDERY);
    let server = Server::bindery(&keys, &kubeconfig, Pinning::Core(cores.server))?;
    let field = Field {
        target: server.target(&keys)?,
        server,
        core: cores.load,
        allowed: Arc::new(Question::new(&keys.reviews.allowed, "\"allowed\":true")),
        denied: Arc::new(Question::new(&keys.reviews.denied, "\"allowed\":false")),
    };
    let processes = field.server.processes()?;
    let mut rows = flood::measure(&field)?;
    rows.extend(crowd_run::measure(&field)?);
    // The same process, judging as before: it neither ended nor lost its mind.
    field.server.check_verdicts(&keys)?;
    if field.server.processes()? != processes {
        return Err("the webhook is not the process that it was".to_owned());
    }
    Ok(rows.into())
}
