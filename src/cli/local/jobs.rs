//! How Jobs are to clean block devices: the configuration says whether, arguments and environment say how.

use serde_json::{Value, json};

use crate::cli::args::{JobArgs, LocalArgs};
use crate::cli::exit::Failure;
use crate::disks::DiskCleaner;
use crate::local::configuration::LocalConfiguration;
use crate::local::jobs::JobSettings;

/// Returns how Jobs are created; nothing if the process cleans.
pub(super) fn settings(
    arguments: &LocalArgs,
    configuration: &LocalConfiguration,
) -> Result<Option<JobSettings>, Failure> {
    match configuration.block_cleaner {
        DiskCleaner::Process => return Ok(None),
        DiskCleaner::Job => {}
    }
    let JobArgs { job_namespace, job_image, job_service_account, job_retry_delay } =
        &arguments.jobs;
    let needed = |value: &Option<String>, what: &str, remedy: &str| {
        value.clone().filter(|value| !value.is_empty()).ok_or_else(|| {
            Failure::usage(format!(
                "useJobForCleaning is true, and the {what} of the Jobs is not known; no block device could be cleaned; \
                 set {remedy}"
            ))
        })
    };
    Ok(Some(JobSettings {
        namespace: needed(
            job_namespace,
            "namespace",
            "MY_NAMESPACE or --job-namespace to the namespace of the pod",
        )?,
        image: needed(
            job_image,
            "image",
            "JOB_CONTAINER_IMAGE or --job-image to the image of Bindery",
        )?,
        service_account: job_service_account.clone(),
        retry_delay: *job_retry_delay,
        ledger: arguments.ledger_dir.display().to_string(),
        kubelet: arguments.kubelet_dir.display().to_string(),
        tolerations: tolerations(configuration),
    }))
}

/// The tolerations of the pods of Jobs: they run while the taint is there that the provisioner removes.
fn tolerations(configuration: &LocalConfiguration) -> Vec<Value> {
    let taint = configuration.removed_taint().map(|key| json!({"key": key, "operator": "Exists"}));
    configuration.job_tolerations.iter().cloned().chain(taint).collect()
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    fn settings_of(words: &[&str], block_cleaner: DiskCleaner) -> Result<bool, String> {
        let command = LocalArgs::augment_args(Command::new("local"));
        let matches = command.get_matches_from([&["local"], words].concat());
        let arguments = LocalArgs::from_arg_matches(&matches).unwrap();
        let mut configuration = LocalConfiguration::default();
        configuration.block_cleaner = block_cleaner;
        let settings = settings(&arguments, &configuration);
        settings.map(|settings| settings.is_some()).map_err(|failure| failure.message)
    }

    #[test]
    fn what_jobs_need_is_known_before_anything_starts() {
        let (namespace, image) = (["--job-namespace", "disks"], ["--job-image", "bindery:1"]);
        let both = [namespace, image].concat();
        assert_eq!(settings_of(&both, DiskCleaner::Job), Ok(true));
        assert_eq!(settings_of(&[], DiskCleaner::Process), Ok(false));
        for (words, expected) in [
            (
                &namespace[..],
                "the image of the Jobs is not known; no block device could be cleaned",
            ),
            (&image[..], "the namespace of the Jobs is not known"),
            (&["--job-namespace", "disks", "--job-image", ""], "set JOB_CONTAINER_IMAGE or"),
        ] {
            let error = settings_of(words, DiskCleaner::Job).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
