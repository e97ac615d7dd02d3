//! `--serve`: the webhook stays up after the scenes, and a review lies ready for curl.

use serde_json::Value;

use super::error::DemoError;
use super::folder::Folder;
use super::print::Printer;
use super::setup::DemoSetup;

/// Prints how to ask the webhook, and serves until `stop` resolves.
pub(super) async fn serve(
    setup: DemoSetup,
    folder: &Folder,
    printer: &mut Printer<'_>,
    stop: impl Future<Output = ()>,
) -> Result<(), DemoError> {
    let review = setup.admission.first_denied().unwrap_or(Value::Null);
    // Pretty, because people change it before they send it again.
    let review = format!("{review:#}\n");
    let review_file = folder.write("review.json", &review)?;
    let address = setup.webhook.address();
    printer.gap()?;
    printer.paragraph("The webhook stays up until ctrl-C. Its first denial, once more:")?;
    printer.gap()?;
    printer.whole(&format!(
        "curl --cacert {} --data-binary @{} -H 'content-type: application/json' \
         https://{address}/validate/guard",
        setup.ca_file.display(),
        review_file.display(),
    ))?;
    printer.gap()?;
    for (what, it) in [
        ("reviews", format!("https://{address}/validate/guard, /validate/advise and /mutate")),
        ("health", format!("http://{}/readyz and /metrics", setup.webhook.health_address())),
        ("CA", setup.ca_file.display().to_string()),
        ("review", review_file.display().to_string()),
    ] {
        printer.whole(&format!("{what:<11}{it}"))?;
    }
    printer.flush()?;
    setup.serve(stop).await?;
    printer.gap()?;
    printer.paragraph("Stopped; the certificate and the review are removed.")?;
    printer.flush()?;
    Ok(())
}
