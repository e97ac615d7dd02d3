//! Bindery stops Kubernetes changes that would lose or mis-bind persistent storage, and explains why a
//! `PersistentVolumeClaim` (PVC) is Pending. One pure binding core makes every decision; an admission webhook, a
//! controller and a command line run it. `README.md` says how to use them; this page says how they are built.
//!
//! # Layers
//!
//! A dot means: the module of the row may import the module of the column. A test fails on any other import, but in the
//! demonstration (`crates/sim/src/demo`), which starts the whole program. The drawing is generated from the table of that
//! test, `tests/tidy/layers.rs`; no dot is right of the diagonal, so no two modules import each other.
//!
//! ```text
//!                   1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24
//!  1 model          ■
//!  2 attach         ●  ■
//!  3 disks          ●  ·  ■
//!  4 moves          ●  ·  ·  ■
//!  5 trash          ●  ·  ·  ●  ■
//!  6 binding        ●  ·  ·  ·  ·  ■
//!  7 claim_templates  ●  ·  ·  ·  ·  ●  ■
//!  8 rules          ●  ·  ·  ·  ·  ●  ·  ■
//!  9 certificates   ·  ·  ·  ·  ·  ·  ·  ·  ■
//! 10 api            ●  ●  ●  ●  ●  ●  ●  ●  ●  ■
//! 11 document       ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ■
//! 12 sim            ●  ·  ·  ·  ·  ·  ·  ·  ·  ●  ·  ■
//! 13 telemetry      ●  ·  ·  ·  ·  ·  ·  ●  ·  ·  ·  ·  ■
//! 14 config         ●  ·  ·  ·  ●  ·  ·  ●  ·  ·  ●  ·  ·  ■
//! 15 file_watch     ·  ·  ·  ·  ·  ·  ·  ●  ·  ·  ·  ·  ●  ●  ■
//! 16 listen         ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ■
//! 17 client         ●  ·  ·  ·  ·  ●  ·  ●  ·  ●  ·  ·  ●  ●  ·  ·  ■
//! 18 move_runner    ●  ·  ·  ●  ●  ·  ·  ·  ·  ●  ·  ·  ·  ·  ·  ·  ●  ■
//! 19 trash_runner   ●  ·  ·  ●  ●  ·  ·  ·  ·  ●  ·  ·  ·  ·  ·  ·  ●  ●  ■
//! 20 webhook        ●  ·  ·  ·  ·  ●  ·  ●  ●  ●  ●  ·  ●  ●  ●  ●  ●  ·  ·  ■
//! 21 controller     ●  ·  ·  ●  ●  ●  ·  ●  ●  ●  ●  ·  ●  ●  ●  ●  ●  ●  ●  ·  ■
//! 22 local          ●  ·  ●  ·  ·  ●  ·  ·  ·  ●  ●  ·  ●  ●  ·  ·  ●  ·  ·  ·  ·  ■
//! 23 cli            ●  ●  ●  ●  ●  ●  ●  ●  ●  ●  ●  ·  ●  ●  ●  ●  ●  ●  ●  ●  ●  ●  ■
//! 24 main           ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ●  ■
//! ```
//!
//! The first eight layers are the package `bindery-core`, which depends on no runtime, client or serialization library.
//! `bindery-webhook` has the webhook and what the controller and the command line share with it: it is optimized for time,
//! and what depends on it for size.
//! `bindery-sim` is the simulated API server for tests and `make demo`; the shipped binary does not contain it.
//!
//! # Entry points
//!
//! * [`rules::judge`] evaluates the rules against a change and returns every violation and what it depends on;
//!   [`rules::mutate`] returns the mutations.
//! * [`rules::RULES`] and [`rules::mutations::MUTATIONS`] list all rules and mutations.
//! * [`binding::decide_claim`] and [`binding::decide_volume`] return the next step for an object, and why.
//!   [`binding::settle`] applies the steps to a whole cluster in memory.
//! * [`binding::fit`] returns every reason why a volume does not fit a claim.
//! * [`binding::judge_node_loss`] returns the pods and claims that cannot come back without some nodes, and why.
//! * [`webhook::service::Service`] answers one review without a socket; [`webhook::run::Webhook`] runs the server.
//! * [`moves::decide_move`] returns the next step of a move of a volume from one claim to another;
//!   [`move_runner::advance`] reads what it depends on and performs it.
//! * [`trash::decide_trash`] returns the next step of a volume that stays after its claim was deleted;
//!   [`trash_runner::trash_step`] reads what it depends on and performs it.
//! * [`moves::decide_import`] does the same for a volume and a claim from another cluster, and
//!   [`moves::import_problems`] returns all that prevents it; [`move_runner::advance_import`] performs it.
//! * [`claim_templates::judge_claim_templates`] returns how the claims of a StatefulSet differ from its templates, and what
//!   makes them agree.
//! * [`disks::next_step`] returns the next step for a local disk; [`local::run::run`] observes disks and performs it.
//! * [`controller::reconciler::Reconciler`] reconciles without I/O; [`controller::run::run`] connects it to the API
//!   server.
//!
//! # Code map
//!
//! | module | contents |
//! |---|---|
//! | [`model`] | values: quantities, access modes, selectors, node affinity, volumes, claims, classes |
//! | [`attach`] | how far a volume is on its way to a node, and who acts next |
//! | [`moves`] | moves of a volume from one claim to another: the journal, and the next step |
//! | [`trash`] | volumes that stay for a while after their claims were deleted: the record, and the next step |
//! | [`disks`] | local disks: what they are recognized by, and the next step for each |
//! | [`binding`] | what fits what, what is known of the cluster, and the next step of a binding |
//! | [`claim_templates`] | the `volumeClaimTemplates` of a StatefulSet beside its claims, and what makes them agree |
//! | [`rules`] | admission rules and mutations, one file each, and their evaluation |
//! | [`api`] | API objects, reviews, patches and webhook registrations, to and from the model |
//! | [`document`] | YAML and JSON as trees with the line and column of each key |
//! | [`telemetry`] | metrics and logs |
//! | [`config`] | the configuration file: modes of rules, trusted users, recycling |
//! | [`file_watch`] | reload of files when they change |
//! | [`certificates`] | CA and serving certificates, and their rotation |
//! | [`listen`] | listening sockets on all addresses |
//! | [`client`] | API client: watches, store, live reads, writes, leader election |
//! | [`move_runner`] | the reads and writes of a move of a volume |
//! | [`trash_runner`] | the reads and writes of a step of the trash |
//! | [`webhook`] | the HTTPS server, its handlers and probes |
//! | [`controller`] | the work queue, the reconcile loop, the event recorder, the recycler, the trash |
//! | [`local`] | the local static provisioner: scans of a node, cleaning, and the requests about its volumes |
//! | [`cli`] | arguments, commands and their output |
//!
//! # Glossary
//!
//! Everything else has Kubernetes' or Rust's name. These terms are our own:
//!
//! | term | meaning | why no standard word fits |
//! |---|---|---|
//! | view | the observed objects with indices, and the writes assumed to have succeeded | a client-go store has neither |
//! | evidence | a view, corrected by the live reads of one decision | an informer's cache knows no proof that an object is absent |
//! | pairing | how `claimRef` and `volumeName` of a volume and a claim point at each other | Kubernetes names three of the eight cases |
//! | mismatch | one reason why a volume does not fit a claim | Kubernetes reports the first reason only, as text |
//! | settle | apply decisions to a view until none is left | the API server does not run controllers in memory |
//! | prebind | choose the volume of a claim, or the claim of a volume, before any binder does | the documentation describes it without a name |
//! | exemption | an annotation or a configuration entry that permits what a rule denies, for a time | admission policies know bindings, not exceptions with an end |
//! | tenant | the namespaces that share one value of a label, and the volumes that only they may claim | Kubernetes has no object for it |
//!
//! # One review, from socket to response
//!
//! The functions through which the `oldObject` of an UPDATE of a `PersistentVolume` passes, file by file:
//!
//! 1. `webhook/transport/listener.rs`: `run` → `Acceptor::accept` → `Connection::serve` → `handshake`. Each step has
//!    a limit and a deadline.
//! 2. `webhook/transport/connection/mod.rs`: `serve` → `serve_until_idle`. One connection, its stages and their deadlines.
//! 3. `webhook/handlers.rs`: `answer` → `review`, for each endpoint.
//! 4. `webhook/transport/body/mod.rs`: `read_body` → `next_data` → `Buffer::push`. A body has the time of its review.
//! 5. `webhook/transport/load_shedder.rs`: `ByteReservation::grow_to` → `LoadShedder::admit`. Above either limit the
//!    response is 429 with `Retry-After`.
//! 6. `webhook/service.rs`: `Service::parse`.
//! 7. `api/review/body.rs`: `prepare` checks the nesting and shortens long texts.
//! 8. `api/review/mod.rs`: `parse_request`.
//! 9. `api/bounded/mod.rs`: `parse_metered`; `api/bounded/wire.rs`: `parse_object`. The spec stays text.
//! 10. `api/review/mod.rs`: `envelope` → `transition` → `volumes`. The result is a [`rules::Change`].
//! 11. `api/volume.rs`: `spec_of` → `volume_of` → `assemble`; `api/storage.rs`: `found`.
//! 12. `webhook/service.rs`: `Service::validate`.
//! 13. `client/needs_reads.rs`: `judge_with_reads` judges again after each round of live reads, until none is missing.
//! 14. `crates/core/src/rules/judging/judge.rs`: `judge` → `rulings`. The [`binding::Evidence`] is the cache and what
//!     was read live.
//! 15. The file of each rule, such as `bound_volume_claim_ref.rs`: `check`.
//! 16. `webhook/read_dispatcher.rs`: `ReadDispatcher::read`, for a denial that rests on another object.
//! 17. `crates/core/src/rules/judging/verdict.rs`: the message of the denial, and `Verdict::warnings`.
//! 18. `webhook/service.rs`: `Service::record`; `api/review/mod.rs`: `response_bytes`.
//! 19. `webhook/transport/connection/mod.rs`: `poll_response` passes the response to hyper.
//!
//! # One binding, from watch event to PATCH
//!
//! The functions through which a new PersistentVolumeClaim passes. What they call on the side is left out: the bounded
//! parser, [`binding::View`] and the rest of the core, tombstones, recyclers, events and metrics.
//!
//! 1. `client/watch.rs`: `Watcher::run` receives bytes, `Watcher::read_lines` cuts them into lines, `Watcher::read_line`
//!    reads the head of one event, `Watcher::observe` and `read_object` its object.
//! 2. `client/resource.rs`: `ResourceKind::observed_for` chooses the decoder.
//! 3. `api/claim.rs`: `claim` decodes the object into the model.
//! 4. `controller/event_sender.rs`: `EventSender::on_object`, `EventSender::send` put it into the channel.
//! 5. `controller/runner.rs`: `Runner::run` receives it, `Runner::on_event` calls the reconciler.
//! 6. `controller/reconciler/mod.rs`: `Reconciler::on_object`.
//! 7. `controller/reconciler/store.rs`: `ObjectStore::on_watched`, `ObjectStore::newer` ignore old versions and hold
//!    back what has to wait for the outcome of a write.
//! 8. `controller/reconciler/mod.rs`: `Reconciler::apply`, `Reconciler::apply_quietly`.
//! 9. `controller/reconciler/affected.rs`: `affected_by` names the objects to reconcile.
//! 10. `controller/reconciler/store.rs`: `ObjectStore::apply` shows the object from now on.
//! 11. `controller/reconciler/mod.rs`: `Reconciler::enqueue`.
//! 12. `controller/work_queue.rs`: `WorkQueue::push` queues each once, later if it is rate limited.
//! 13. `controller/reconciler/mod.rs`: `Reconciler::next` asks for a task.
//! 14. `controller/work_queue.rs`: `WorkQueue::pop`.
//! 15. `controller/reconciler/reconcile.rs`: `Reconciler::reconcile`, `Reconciler::decide`.
//! 16. `controller/reads.rs`: `Reads::take` returns the live reads that were made for this decision.
//! 17. `controller/reconciler/reconcile.rs`: `Reconciler::ask_core`.
//! 18. `binding/claim/mod.rs`: [`binding::decide_claim`] answers with live reads, with one write, or with nothing to do;
//!     always with the reason.
//! 19. `controller/reconciler/reconcile.rs`: `Reconciler::write` waits for a write in flight, a claim that comes first or a
//!     recycler, if there is one; else it makes the task.
//! 20. `controller/reconciler/store.rs`: `ObjectStore::assume` shows the write as done.
//! 21. `controller/reconciler/in_flight.rs`: `InFlightWrites::begin` keeps the object as it was.
//! 22. `controller/runner.rs`: `Runner::start`, `Runner::send` carry the task out, if enough of the lease is left.
//! 23. `client/send.rs`: `send`.
//! 24. `api/write.rs`: `encoded_patch` names the uid and the version on which the write was decided.
//! 25. `client/send.rs`: `exchange` sends the PATCH.
//!
//! The outcome comes back through `Runner::on_reply`: the store shows what the API server replied, or forgets the write,
//! and the object is reconciled again. A binding takes four writes. If there was no reply, the object is read first. The
//! watch shows each write once more; that event is passed over if the reply has shown the same (`OwnWrites::echo`).
//!
//! A volume that becomes free looks for the claim that has been Pending longest for one like it, so that
//! nothing waits for the resync. Each step of that has a constant size.
//!
//! # Invariants
//!
//! **Architecture invariant:** [`model`], [`binding`] and [`rules`] do no I/O and use no clock, no random numbers and
//! no wire format. The time is an argument. Only hash tables have a random seed, see [`binding::NameHasher`].
//!
//! **Architecture invariant:** an object is absent only if a live read proved it. Until then a lookup returns
//! [`binding::Lookup::Unknown`].
//!
//! **Architecture invariant:** a verdict does not depend on the order of objects, events or keys. Hash tables are used
//! for lookups only; whatever is iterated is sorted.
//!
//! **Architecture invariant:** only the leader writes to PersistentVolumes and PersistentVolumeClaims; each such write
//! names the uid and version on which it was decided. No object has two writes of the reconciler in flight, and none has two
//! of the trash.
//!
//! **Architecture invariant:** admission has no side effects. The webhook writes nothing to the cluster, and no rule
//! can distinguish a dry run from a real request.
//!
//! **Architecture invariant:** [`api`] converts every volume and claim that a decision rests on. No rule names an API type.
//! The recycler alone reads a volume as it was sent, for the pod that empties it.
//!
//! **Architecture invariant:** a panic ends one review only. Its answer is 500, and a metric counts it.
//!
//! **Architecture invariant:** logs contain the kind, namespace and name of an object, never the object. No metric
//! label comes from a request, and no metric is global.
//!
//! **Architecture invariant:** the retries of the client library are off: each caller decides about its own retries.
//!
//! # How to add a rule
//!
//! One file and one word. Write `crates/core/src/rules/my_hazard.rs` with a `RULE` (copy the shape of
//! `crates/core/src/rules/bound_volume_delete.rs`), and put `my_hazard` into the list in `crates/core/src/rules/mod.rs`.
//! Registrations, the reference page and the tests of its examples follow from the value:
//!
//! ```
//! use bindery::rules::{Mode, RULES, find};
//!
//! let rule = find("bound-volume-delete").expect("it is in the list");
//! assert_eq!(rule.mode, Mode::Deny);
//! assert!(!rule.denied.is_empty() && !rule.allowed.is_empty());
//! assert!(RULES.iter().all(|rule| !rule.request_types.is_empty()));
//! ```
pub use bindery_core::{attach, binding, claim_templates, disks, model, moves, rules, trash};
pub use bindery_webhook::{
    api, certificates, client, config, document, file_watch, listen, telemetry, webhook,
};

pub mod cli;
pub mod controller;
pub mod local;
pub mod move_runner;
pub mod trash_runner;
