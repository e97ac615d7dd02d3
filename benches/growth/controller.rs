//! The controller of the product, on one thread of its own, over generated objects.

use std::time::Duration;

use bindery::controller::mode::ControllerMode;
use bindery::controller::run::{ControllerSettings, run};
use bindery::file_watch::configuration::ConfigurationSource;
use kube::Client;
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::api_server::ApiServer;

/// How long a scenario may take: ten times as long as on a slow machine.
const PATIENCE: Duration = Duration::from_mins(5);

/// Runs the controller until the scenario ends, which runs on the same thread whenever the controller has nothing to do:
/// what the clock of the thread says between two of its steps, the controller has taken.
pub(crate) fn beside<T>(
    server: &ApiServer,
    scenario: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    let mut ended = Err("the controller ended by itself".to_owned());
    let controlled = runtime.block_on(async {
        let client = Client::new(server.clone(), "default");
        let scenario = async {
            let in_time = timeout(PATIENCE, scenario).await;
            ended = in_time.unwrap_or_else(|_| Err(format!("not over within {PATIENCE:?}")));
        };
        run(client, settings(), scenario).await
    });
    controlled.map_err(|error| error.to_string())?;
    server.check()?;
    ended
}

/// One replica that binds, without what the cluster is told beside that.
fn settings() -> ControllerSettings {
    ControllerSettings {
        mode: ControllerMode::Full,
        election: None,
        configuration: ConfigurationSource::default(),
        config_map: None,
        last_good: None,
        own_namespace: "bindery".to_owned(),
        events: false,
        certificates: None,
        guard: None,
    }
}
