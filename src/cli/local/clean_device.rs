//! `bindery local clean-device`: what the Job of a disk runs.

use crate::cli::args::CleanDeviceArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::process;
use crate::local::clean::by_job::{DeviceCleaning, DeviceCleaningEnd};
use crate::model::VolumeName;

/// Cleans one block device, if that is permitted.
pub(super) fn run(arguments: &CleanDeviceArgs) -> Result<Exit, Failure> {
    process::start_logging(&arguments.log);
    let cleaning = DeviceCleaning {
        cleaning: arguments.cleaning.clone(),
        volume: VolumeName::new(arguments.volume.as_str()),
        path: arguments.path.clone(),
        ledger: arguments.ledger_dir.clone(),
        kubelet: arguments.kubelet_dir.clone(),
        machine: arguments.machine_id.clone(),
        command: arguments.command.clone(),
    };
    let (volume, path) = (&arguments.volume, arguments.path.display());
    match cleaning.run() {
        Ok(DeviceCleaningEnd::Cleaned) => {
            tracing::info!(volume, %path, "the device is clean");
            Ok(Exit::Clean)
        }
        Ok(DeviceCleaningEnd::Revoked) => {
            tracing::info!(volume, %path, "the disk is not to be cleaned by this Job any more; nothing was touched");
            Ok(Exit::Clean)
        }
        Err(error) => {
            let message = format!("{path}: {error}");
            Err(Failure { exit: Exit::Denied, message })
        }
    }
}
