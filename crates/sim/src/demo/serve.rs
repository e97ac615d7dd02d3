//! `--serve`: the webhook stays up after the scenes, and a review lies ready for curl.

use serde_json::Value;

use super::DemoError;
use super::folder::Folder;
use super::print::Printer;
use super::stage::Stage;

/// Tells how to ask the webhook, and serves until `stop` resolves.
pub(super) async fn serve(
    stage: Stage,
    folder: &Folder,
    printer: &mut Printer<'_>,
    stop: impl Future<Output = ()>,
) -> Result<(), DemoError> {
    let review = stage.admission.first_refused().unwrap_or(Value::Null);
    // Pretty, because people change it before they send it again.
    let review = format!("{review:#}\n");
    let review_file = folder.write("review.json", &review)?;
    let address = stage.webhook.address();
    printer.gap()?;
    printer.paragraph("The webhook stays up until ctrl-C. Its first refusal, once more:")?;
    printer.gap()?;
    printer.whole(&format!(
        "curl --cacert {} --data-binary @{} -H 'content-type: application/json' \
         https://{address}/validate/guard",
        stage.ca_file.display(),
        review_file.display(),
    ))?;
    printer.gap()?;
    for (what, it) in [
        ("reviews", format!("https://{address}/validate/guard, /validate/advise and /mutate")),
        ("health", format!("http://{}/readyz and /metrics", stage.webhook.health_address())),
        ("authority", stage.ca_file.display().to_string()),
        ("review", review_file.display().to_string()),
    ] {
        printer.whole(&format!("{what:<11}{it}"))?;
    }
    printer.flush()?;
    stage.serve(stop).await?;
    printer.gap()?;
    printer.paragraph("Stopped; the certificate and the review are removed.")?;
    printer.flush()?;
    Ok(())
}
