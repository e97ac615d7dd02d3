//! Requests that are no readable reviews: at least one row per branch that can refuse.

use crate::stage::{Scene, Stage};
use crate::transport::fixture::NAME;

use super::{about, claim_review, claims, everywhere, line, review, volume_review, volumes};

const VOLUME: &str = r#","object":{"metadata":{"name":"pv-a"}}"#;

/// Posts each body everywhere and compares the refusals; `@` stands for line and column.
async fn refuses(rows: Vec<(Vec<u8>, &str)>) {
    let stage = Stage::before(&Scene::empty()).await;
    for (body, expected) in rows {
        let what = String::from_utf8_lossy(&body[..body.len().min(400)]).into_owned();
        let reply = everywhere(&stage, &body).await;
        assert_eq!(reply.status, 400, "{what}: {reply:?}");
        assert_eq!(
            without_place(line(&reply)),
            format!("{expected}; nothing was judged"),
            "{what}"
        );
    }
    assert_eq!(stage.metric("bindery_panics_total").await, 0);
}

/// The line with `@` for ` at line N column N`, wherever serde puts it.
fn without_place(line: &str) -> String {
    let Some((before, after)) = line.split_once(" at line ") else { return line.to_owned() };
    let (row, after) = after.split_once(" column ").unwrap();
    let rest = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
    assert!(row.parse::<u32>().is_ok() && rest.len() < after.len(), "{line}");
    format!("{before} @{rest}")
}

fn rows<const N: usize>(rows: [(String, &'static str); N]) -> Vec<(Vec<u8>, &'static str)> {
    rows.into_iter().map(|(body, expected)| (body.into_bytes(), expected)).collect()
}

/// A text that is too long to be wanted whole is read before the rest.
const BROKEN_LONG_TEXT: &str = "the text at byte 204 cannot be read: it holds an escape or a control \
    character that JSON does not allow";

#[tokio::test]
async fn what_is_not_json_is_refused() {
    let whole = volume_review(r#"{"metadata":{"name":"pv-a"}}"#);
    let mut invalid = whole.clone().into_bytes();
    let place = whole.find("u-1").unwrap();
    invalid[place] = 0xff;
    let mut inside = whole.clone().into_bytes();
    let place = whole.find("pv-a").unwrap();
    inside[place] = 0xff;
    let deep = "[".repeat(200_000);
    assert_eq!(whole.find("\"pv-a\""), Some(204), "the place that the rows below name");
    let long = |end: &str| whole.replace("pv-a", &format!("{}{end}", "x".repeat(20_000)));
    let mut all = rows([
        (String::new(), "the body is not a readable AdmissionReview: EOF while parsing a value @"),
        (
            whole[..whole.len() - 1].to_owned(),
            "the body is not a readable AdmissionReview: EOF while parsing an object @",
        ),
        (
            whole[..40].to_owned(),
            "the body is not a readable AdmissionReview: EOF while parsing a string @",
        ),
        (format!("{whole}x"), "the body is not a readable AdmissionReview: trailing characters @"),
        (
            format!("{whole}{whole}"),
            "the body is not a readable AdmissionReview: trailing characters @",
        ),
        (
            "apiVersion: v1".to_owned(),
            "the body is not a readable AdmissionReview: expected value @",
        ),
        ("\u{feff}{}".to_owned(), "the body is not a readable AdmissionReview: expected value @"),
        (
            whole.replace("pv-a", "a\nb"),
            "the body is not a readable AdmissionReview: control character (\\u0000-\\u001F) found while parsing a string @",
        ),
        (
            whole.replace("pv-a", "\\ud800"),
            "request.object cannot be read: unexpected end of hex escape @",
        ),
        (
            whole.replace("\"pv-a\"", "01"),
            "the body is not a readable AdmissionReview: invalid number @",
        ),
        (whole.replace("\"pv-a\"", &deep), "the body is nested more than 10000 levels deep"),
        (long("\\x"), BROKEN_LONG_TEXT),
        (long("\n"), BROKEN_LONG_TEXT),
    ]);
    let mut not_utf8 = long("?").into_bytes();
    let place = not_utf8.iter().position(|byte| *byte == b'?').unwrap();
    not_utf8[place] = 0xff;
    all.push((not_utf8, "the text at byte 204 cannot be read: it is not UTF-8"));
    all.push((invalid, "the body is not a readable AdmissionReview: invalid unicode code point @"));
    all.push((inside, "the body is not a readable AdmissionReview: invalid unicode code point @"));
    refuses(all).await;
}

#[tokio::test]
async fn an_envelope_of_another_shape_is_refused() {
    let whole = volume_review("{}");
    let twice = |from: &str, to: &str| whole.replace(from, to);
    refuses(rows([
        ("[]".to_owned(), "the body is not a readable AdmissionReview: invalid type: sequence, expected a map @"),
        ("{}".to_owned(), "expected an AdmissionReview of admission.k8s.io/v1, got \"\" of \"\""),
        (
            whole.replace("io/v1\"", "io/v1beta1\""),
            "expected an AdmissionReview of admission.k8s.io/v1, got \"AdmissionReview\" of \"admission.k8s.io/v1beta1\"",
        ),
        (
            whole.replace("\"AdmissionReview\"", "\"Admission\\nReview\""),
            "expected an AdmissionReview of admission.k8s.io/v1, got \"Admission\\nReview\" of \"admission.k8s.io/v1\"",
        ),
        (
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{}}"#.to_owned(),
            "the AdmissionReview has no request",
        ),
        (
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}"#.to_owned(),
            "the AdmissionReview has no request",
        ),
        (whole.replace("\"uid\":\"u-1\",", ""), "request.uid is empty"),
        (whole.replace("u-1", ""), "request.uid is empty"),
        (
            whole.replace("u-1", &"u".repeat(1_025)),
            "request.uid has 1025 bytes; no API server sends more than 1024",
        ),
        (
            twice("\"uid\":\"u-1\"", "\"uid\":\"u-1\",\"uid\":\"u-2\""),
            "the body is not a readable AdmissionReview: duplicate field `uid` @",
        ),
        (
            twice("\"kind\":", "\"kind\":\"Pod\",\"kind\":"),
            "the body is not a readable AdmissionReview: duplicate field `kind` @",
        ),
        (
            twice("\"object\":{}", "\"object\":{},\"object\":{}"),
            "the body is not a readable AdmissionReview: duplicate field `object` @",
        ),
    ]))
    .await;
}

#[tokio::test]
async fn fields_of_the_envelope_of_the_wrong_type_are_refused() {
    let full = review(&volumes(
        "CREATE",
        r#","subResource":"","namespace":"n","userInfo":{"username":"a","groups":["g"]},"dryRun":true,"object":{}"#,
    ));
    let field = |from: &str, to: &str| {
        assert_eq!(full.matches(from).count(), 1, "{from}");
        full.replace(from, to)
    };
    let wrong = "the body is not a readable AdmissionReview: invalid type: ";
    let table = [
        (field("\"admission.k8s.io/v1\"", "1"), "integer `1`, expected text @"),
        (field("\"AdmissionReview\"", "{}"), "map, expected text @"),
        (field("\"u-1\"", "7"), "integer `7`, expected a string @"),
        (field("\"u-1\"", "null"), "null, expected a string @"),
        (field("\"CREATE\"", "[]"), "sequence, expected text @"),
        (field("\"persistentvolumes\"", "true"), "boolean `true`, expected text @"),
        (field("\"v1\"", "1.5"), "floating point `1.5`, expected text @"),
        (field("{\"group\"", "9,\"x\":{\"group\""), "integer `9`, expected a map @"),
        (field("\"subResource\":\"\"", "\"subResource\":0"), "integer `0`, expected text @"),
        (field("\"n\"", "false"), "boolean `false`, expected text @"),
        (field("{\"username\"", "\"a\",\"x\":{\"username\""), "string \"a\", expected a map @"),
        (field("\"a\"", "[]"), "sequence, expected text @"),
        (field("[\"g\"]", "\"g\""), "string \"g\", expected a list @"),
        (field("[\"g\"]", "[1]"), "integer `1`, expected text @"),
        (field("\"dryRun\":true", "\"dryRun\":\"yes\""), "string \"yes\", expected a boolean @"),
    ];
    let rows = table.map(|(body, reason)| (body.into_bytes(), format!("{wrong}{reason}")));
    let rows = rows.into_iter().map(|(body, reason)| (body, &*reason.leak()));
    refuses(rows.collect()).await;
}

#[tokio::test]
async fn what_is_not_judged_here_is_refused() {
    let of = |group: &str, version: &str, resource: &str| {
        volume_review("{}").replace(
            r#"{"group":"","version":"v1","resource":"persistentvolumes"}"#,
            &format!(r#"{{"group":"{group}","version":"{version}","resource":"{resource}"}}"#),
        )
    };
    let sub = |name: &str| review(&volumes("UPDATE", &format!(r#","subResource":"{name}""#)));
    refuses(rows([
        (of("", "v1", "pods"), "\"pods of v1\" is not judged here; register persistentvolumes, persistentvolumeclaims and namespaces of v1 only"),
        (of("storage.k8s.io", "v1", "storageclasses"), "\"storageclasses of storage.k8s.io/v1\" is not judged here; register persistentvolumes, persistentvolumeclaims and namespaces of v1 only"),
        (of("", "v2", "persistentvolumes"), "\"persistentvolumes of v2\" is not judged here; register persistentvolumes, persistentvolumeclaims and namespaces of v1 only"),
        (of("", "", ""), "\" of \" is not judged here; register persistentvolumes, persistentvolumeclaims and namespaces of v1 only"),
        (sub("scale"), "subresource \"scale\" is not judged here; register no subresource but status"),
        (sub("finalize"), "subresource \"finalize\" is not judged here; register no subresource but status"),
        (review(&volumes("CONNECT", VOLUME)), "operation \"CONNECT\" is not judged here; register CREATE, UPDATE and DELETE only"),
        (review(&volumes("create", VOLUME)), "operation \"create\" is not judged here; register CREATE, UPDATE and DELETE only"),
        (review(&volumes("", VOLUME)), "operation \"\" is not judged here; register CREATE, UPDATE and DELETE only"),
        (review(&about("pods", "PATCH", VOLUME)), "operation \"PATCH\" is not judged here; register CREATE, UPDATE and DELETE only"),
    ]))
    .await;
}

#[tokio::test]
async fn an_operation_without_its_objects_is_refused() {
    let old = VOLUME.replace("object", "oldObject");
    refuses(rows([
        (review(&volumes("CREATE", "")), "CREATE comes without request.object"),
        (review(&volumes("CREATE", r#","object":null"#)), "CREATE comes without request.object"),
        (review(&volumes("CREATE", &old)), "CREATE comes without request.object"),
        (review(&volumes("UPDATE", VOLUME)), "UPDATE comes without request.oldObject"),
        (review(&volumes("UPDATE", &old)), "UPDATE comes without request.object"),
        (review(&claims("UPDATE", "")), "UPDATE comes without request.oldObject"),
        (review(&volumes("DELETE", VOLUME)), "DELETE comes without request.oldObject"),
        (
            review(&claims("DELETE", r#","oldObject":null"#)),
            "DELETE comes without request.oldObject",
        ),
    ]))
    .await;
}

#[tokio::test]
async fn a_volume_of_another_shape_is_refused_where_it_is_read() {
    let rows = [
        ("1", "invalid type: integer `1`, expected a map @"),
        (r#"{"metadata":"a"}"#, "invalid type: string \"a\", expected a map @"),
        (r#"{"metadata":{"name":1}}"#, "invalid type: integer `1`, expected text @"),
        (r#"{"metadata":{"uid":[]}}"#, "invalid type: sequence, expected text @"),
        (r#"{"metadata":{"labels":[]}}"#, "invalid type: sequence, expected a map of labels @"),
        (
            r#"{"metadata":{"annotations":[]}}"#,
            "invalid type: sequence, expected a map of annotations @",
        ),
        (
            r#"{"metadata":{"annotations":{"pv.kubernetes.io/x":1}}}"#,
            "invalid type: integer `1`, expected text @",
        ),
        (r#"{"metadata":{"finalizers":{}}}"#, "invalid type: map, expected a list of finalizers @"),
        (
            r#"{"metadata":{"finalizers":[1]}}"#,
            "invalid type: integer `1`, expected a finalizer's name @",
        ),
        (r#"{"metadata":{"ownerReferences":{}}}"#, "invalid type: map, expected a list @"),
        (r#"{"spec":[]}"#, "invalid type: sequence, expected a map @"),
        (r#"{"spec":{"capacity":7}}"#, "invalid type: integer `7`, expected a map @"),
        (
            r#"{"spec":{"capacity":{"storage":true}}}"#,
            "invalid type: boolean `true`, expected an amount such as 10Gi @",
        ),
        (r#"{"spec":{"capacity":{"storage":1e999}}}"#, "number out of range @"),
        (r#"{"spec":{"accessModes":"a"}}"#, "invalid type: string \"a\", expected a list @"),
        (r#"{"spec":{"accessModes":[[[[]]]]}}"#, "invalid type: sequence, expected text @"),
        (r#"{"spec":{"volumeMode":0}}"#, "invalid type: integer `0`, expected text @"),
        (r#"{"spec":{"storageClassName":{}}}"#, "invalid type: map, expected text @"),
        (r#"{"spec":{"claimRef":"a"}}"#, "invalid type: string \"a\", expected a map @"),
        (r#"{"spec":{"claimRef":{"uid":1}}}"#, "invalid type: integer `1`, expected text @"),
        (
            r#"{"spec":{"persistentVolumeReclaimPolicy":[]}}"#,
            "invalid type: sequence, expected text @",
        ),
        (
            r#"{"spec":{"nodeAffinity":{"required":1}}}"#,
            "invalid type: integer `1`, expected a map @",
        ),
        (r#"{"spec":{"csi":true}}"#, "invalid type: boolean `true`, expected a map @"),
        (r#"{"status":{"phase":1}}"#, "invalid type: integer `1`, expected text @"),
        (r#"{"metadata":{"name":"a","name":"b"}}"#, "duplicate field `name` @"),
        (r#"{"spec":{},"spec":{}}"#, "duplicate field `spec` @"),
        (r#"{"spec":{"claimRef":{"uid":"a","uid":"b"}}}"#, "duplicate field `uid` @"),
        (r#"{"metadata":{"finalizers":[],"finalizers":[]}}"#, "duplicate field `finalizers` @"),
        (
            r#"{"metadata":{"annotations":{"pv.kubernetes.io/x":"1","pv.kubernetes.io/x":"1"}}}"#,
            "duplicate key `pv.kubernetes.io/x` @",
        ),
    ]
    .map(|(object, reason)| (volume_review(object), reason));
    refuses_objects(rows.into()).await;
}

#[tokio::test]
async fn a_claim_of_another_shape_is_refused_where_it_is_read() {
    let rows = [
        (
            r#"{"spec":{"resources":{"requests":{"storage":[]}}}}"#,
            "invalid type: sequence, expected an amount such as 10Gi @",
        ),
        (r#"{"spec":{"selector":[1]}}"#, "invalid type: sequence, expected a map @"),
        (r#"{"spec":{"selector":{"matchLabels":{"a":"1","a":"2"}}}}"#, "duplicate key `a` @"),
        (
            r#"{"spec":{"selector":{"matchExpressions":[{"key":1}]}}}"#,
            "invalid type: integer `1`, expected text @",
        ),
        (r#"{"spec":{"volumeName":1}}"#, "invalid type: integer `1`, expected text @"),
        (r#"{"spec":{"volumeName":"a","volumeName":"a"}}"#, "duplicate field `volumeName` @"),
        (r#"{"status":{"allocatedResources":1}}"#, "invalid type: integer `1`, expected a map @"),
    ]
    .map(|(object, reason)| (claim_review(object), reason));
    refuses_objects(rows.into()).await;
}

/// As `refuses`, for reasons about the new object.
async fn refuses_objects(rows: Vec<(String, &str)>) {
    let line = |reason| &*format!("request.object cannot be read: {reason}").leak();
    refuses(rows.into_iter().map(|(body, reason)| (body.into_bytes(), line(reason))).collect())
        .await;
}

#[tokio::test]
async fn an_old_object_of_another_shape_is_refused_too() {
    let old = r#","oldObject":{"spec":{"claimRef":[]}},"object":{}"#;
    let reason = "request.oldObject cannot be read: invalid type: sequence, expected a map @";
    let claim = r#","oldObject":{"metadata":{"name":{}}},"object":{}"#;
    let of_claim = "request.oldObject cannot be read: invalid type: map, expected text @";
    refuses(rows([
        (review(&volumes("UPDATE", old)), reason),
        (review(&volumes("DELETE", old)), reason),
        (review(&claims("UPDATE", claim)), of_claim),
        (review(&claims("DELETE", claim)), of_claim),
    ]))
    .await;
}

#[tokio::test]
async fn a_reason_is_one_short_line_however_long_its_cause() {
    let stage = Stage::before(&Scene::empty()).await;
    let long = "a\\n".repeat(500_000);
    let body = volume_review(&format!(r#"{{"metadata":"{long}"}}"#));
    let reply = everywhere(&stage, body.as_bytes()).await;
    assert_eq!(reply.status, 400);
    let told = line(&reply);
    assert!(told.starts_with("request.object cannot be read: invalid type: string \"a\\na\\na"));
    assert!(told.ends_with("…; nothing was judged"), "{told}");
    assert_eq!(stage.metric("bindery_panics_total").await, 0);
}

#[tokio::test]
async fn what_is_wrong_with_the_request_around_the_body_is_told_as_well() {
    let stage = Stage::before(&Scene::empty()).await;
    let head = |first: &str, headers: &str| {
        format!("{first} HTTP/1.1\r\nhost: {NAME}\r\n{headers}\r\n").into_bytes()
    };
    let post = "POST /validate/guard?timeout=1s";
    let json = "content-type: application/json\r\n";
    let rows = [
        (
            head(post, "content-type: text/plain\r\ncontent-length: 0\r\n"),
            (
                415,
                "the body is not declared as JSON; it was not read; send Content-Type: application/json",
            ),
        ),
        (
            head(post, &format!("{json}content-encoding: gzip\r\ncontent-length: 0\r\n")),
            (415, "the body is encoded; it was not read; send it without Content-Encoding"),
        ),
        (
            head(post, &format!("{json}content-length: 7340033\r\n")),
            (413, "the body is longer than 7340032 bytes; it was not read; send a smaller object"),
        ),
        (
            [&*head(post, &format!("{json}transfer-encoding: chunked\r\n")), b"zz\r\n"].concat(),
            (400, "the body broke off; this request was not judged; try again"),
        ),
        (
            [&*head(post, &format!("{json}content-length: 9\r\n")), b"{"].concat(),
            (408, "the body did not arrive in time; this request was not judged; try again"),
        ),
        (
            head("GET /mutate", ""),
            (405, "no such method on this path; nothing was judged; send POST to a review path"),
        ),
        (
            head("POST /validate", &format!("{json}content-length: 0\r\n")),
            (404, "no such path; nothing was judged; the paths are in the webhook configurations"),
        ),
        (
            head("GET /metrics", ""),
            (404, "no such path; nothing was judged; the paths are in the webhook configurations"),
        ),
    ];
    for (request, (status, reason)) in rows {
        let reply = stage.raw(&request).await;
        assert_eq!((reply.status, line(&reply)), (status, reason));
    }
}
