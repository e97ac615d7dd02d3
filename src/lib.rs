//! Bindery keeps `PersistentVolume`s ("volumes") and `PersistentVolumeClaim`s ("claims") correctly
//! married: one pure binding core, shown to the world as an admission webhook, a controller and a
//! command line. What it refuses and how it is run is in `README.md`; this page is how it is
//! built.
//!
//! # Bird's-eye view
//!
//! ```text
//!                   1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16
//!  1 model          ■
//!  2 binding        ●  ■
//!  3 rules          ●  ●  ■
//!  4 certificates   ·  ·  ·  ■
//!  5 api            ●  ●  ●  ●  ■
//!  6 document       ·  ·  ·  ·  ·  ■
//!  7 sim            ●  ·  ·  ·  ●  ·  ■
//!  8 telemetry      ●  ·  ●  ·  ·  ·  ·  ■
//!  9 config         ●  ·  ●  ·  ·  ●  ·  ·  ■
//! 10 follow         ·  ·  ●  ·  ·  ·  ·  ●  ●  ■
//! 11 listen         ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ■
//! 12 client         ●  ●  ●  ·  ●  ·  ·  ●  ●  ·  ·  ■
//! 13 webhook        ●  ●  ●  ●  ●  ●  ·  ●  ●  ●  ●  ●  ■
//! 14 controller     ●  ●  ●  ●  ●  ●  ·  ●  ●  ●  ●  ●  ·  ■
//! 15 cli            ●  ●  ●  ●  ●  ●  ·  ●  ●  ●  ●  ●  ●  ●  ■
//! 16 main           ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ●  ■
//! ```
//!
//! Arrows are imports; what is not drawn is not allowed. `tests/tidy` holds the table and fails on
//! an import that it does not list.
//!
//! # Entry points
//!
//! * [`rules::judge`]: a change, a policy and what is known, in; every violation and what it rests
//!   on, out. [`rules::mutate`] is the same for repairs.
//! * [`rules::RULES`] and [`rules::mutations::MUTATIONS`]: everything that is refused or repaired.
//! * [`webhook::service::Service`]: one review, from its body to its answer, without a socket.
//! * [`webhook::run::Webhook`]: the process, from its options to its end.
//! * [`binding::decide_claim`] and [`binding::decide_volume`]: what is to be done next about an
//!   object, and why; [`binding::settle`] drives them over a whole cluster.
//! * [`controller::reconciler::Reconciler`]: the controller without I/O; [`controller::run::run`] with it.
//! * [`binding::fit`]: every reason why a volume and a claim do not belong together.
//!
//! # Code map
//!
//! | module | what |
//! |---|---|
//! | [`model`] | values: amounts, access modes, classes, volumes, claims, what they compare by |
//! | [`binding`] | the two pointers of a pair, the reasons against it, and what is known of both |
//! | [`rules`] | verdicts and repairs: a file each, and the machinery that runs them |
//! | [`api`] | API objects, reviews, patches and registrations, to and from the model |
//! | [`document`] | YAML and JSON as trees that know the line and column of everything |
//! | [`telemetry`] | metrics and logs |
//! | [`config`] | the configuration file: modes of rules, whom to trust, how volumes are recycled |
//! | [`follow`] | files that somebody else replaces: a watch and a poll |
//! | [`certificates`] | authorities and serving pairs: how they are made, and what is next when they age |
//! | [`listen`] | taking a port on every address of the machine |
//! | [`client`] | client, watch loop, live reads, writes, the lease, the loop between judging and reading |
//! | [`webhook`] | the HTTPS port, its handlers, probes, the process |
//! | [`controller`] | the bind loop: a line of objects, one decision at a time, many requests under way |
//! | [`cli`] | arguments, commands, what they print |
//!
//! # One review, from socket to response
//!
//! The functions through which the `oldObject` of an UPDATE of a `PersistentVolume` passes, file by file:
//!
//! 1. `webhook/transport/listener.rs`: `run` → `Acceptor::accept` → `Connection::serve` → `handshake`. Each step has
//!    a limit and a deadline.
//! 2. `webhook/transport/connection/mod.rs`: `serve` → `ConnectionService::call`. One connection, its stages and
//!    their deadlines.
//! 3. `webhook/handlers.rs`: `review`, for each endpoint.
//! 4. `webhook/transport/body/mod.rs`: `read_body` → `next_data` → `Buffer::push`. A body has the time of its review.
//! 5. `webhook/transport/load_shedder.rs`: `ByteReservation::grow_to` → `LoadShedder::admit`. Above either limit the
//!    response is 429 with `Retry-After`.
//! 6. `webhook/service.rs`: `Service::parse`.
//! 7. `api/review/body.rs`: `prepare` checks the nesting and shortens long texts.
//! 8. `api/review/mod.rs`: `parse_request` → `envelope` → `transition` → `volumes`. The result is a [`rules::Change`].
//! 9. `api/bounded/mod.rs`: `parse_bytes`; `api/bounded/wire.rs`: `parse_object`. The spec stays text.
//! 10. `api/volume.rs`: `spec_of` → `volume_of` → `assemble`; `api/storage.rs`: `found`.
//! 11. `webhook/service.rs`: `Service::validate`.
//! 12. `client/needs_reads.rs`: `judge_with_reads` judges again after each round of live reads, until none is missing.
//! 13. `crates/core/src/rules/judging/judge.rs`: `judge` → `found`. The [`binding::Evidence`] is the cache and what
//!     was read live.
//! 14. The file of each rule, such as `bound_volume_delete.rs`: `check`.
//! 15. `webhook/read_dispatcher.rs`: `ReadDispatcher::read`, for a denial that rests on another object.
//! 16. `crates/core/src/rules/judging/verdict.rs`: the message of the denial, and `Verdict::warnings`.
//! 17. `webhook/service.rs`: `Service::record`; `api/review/mod.rs`: `response_bytes`.
//! 18. `webhook/transport/connection/mod.rs`: `RequestFuture::poll` passes the response to hyper.
//!
//! # One binding, from watch event to PATCH
//!
//! The way of a new PersistentVolumeClaim: 33 calls in 15 files. What [`binding::View`] and [`binding::decide_claim`] do
//! inside the core is not counted.
//!
//! 1. `client/watch.rs`: `Watcher::run` receives bytes, `Watcher::read_lines` cuts them into lines, `Watcher::read_line`
//!    reads one event, `Watcher::observe` passes its object on.
//! 2. `client/resource.rs`: `ResourceKind::observed_for` chooses the decoder.
//! 3. `api/claim.rs`: `claim` decodes the object into the model.
//! 4. `controller/event_sender.rs`: `EventSender::on_object`, `EventSender::send` put it into the channel.
//! 5. `controller/runner.rs`: `Runner::run` receives it, `Runner::on_event` calls the reconciler.
//! 6. `controller/reconciler/mod.rs`: `Reconciler::on_object`.
//! 7. `controller/reconciler/store.rs`: `Store::on_watched`, `Store::newer` ignore old versions and hold back what has to
//!    wait for the outcome of a write.
//! 8. `controller/reconciler/mod.rs`: `Reconciler::apply`, `Reconciler::apply_quietly`.
//! 9. `controller/reconciler/affected.rs`: `affected_by` names the objects to reconcile.
//! 10. `controller/reconciler/store.rs`: `Store::apply` shows the object from now on.
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
//! 20. `controller/reconciler/store.rs`: `Store::assume` shows the write as done.
//! 21. `controller/reconciler/in_flight.rs`: `InFlightWrites::begin` keeps the object as it was.
//! 22. `controller/runner.rs`: `Runner::start`, `Runner::send` carry the task out, if enough of the lease is left.
//! 23. `client/send.rs`: `send`.
//! 24. `api/write.rs`: `write_patch` names the uid and the version on which the write was decided.
//! 25. `client/send.rs`: `exchange` sends the PATCH.
//!
//! The outcome comes back through `Runner::on_reply`: the store shows what the API server replied, or forgets the write,
//! and the object is reconciled again. A binding takes four writes. If there was no reply, the object is read first.
//!
//! A volume that becomes free looks for the claim that has been Pending longest for one like it, so that
//! nothing waits for the resync. Each step of that has a constant size.
//!
//! # What never happens
//!
//! **Architecture invariant:** [`model`], [`binding`] and [`rules`] never wait, read, write, ask a
//! clock or roll a die, and know no wire format. The time is an argument.
//!
//! **Architecture invariant:** nothing is absent because a cache does not hold it. Only a live read
//! proves absence; until then a lookup is [`binding::Lookup::Unknown`].
//!
//! **Architecture invariant:** a verdict depends on no order: not of objects, not of events, not of
//! map keys. There is no hash map in the package.
//!
//! **Architecture invariant:** a write is sent by whoever holds the lease, on the version on which it was
//! decided, and once. No object has two writes under way.
//!
//! **Architecture invariant:** judging has no effect. The webhook writes nothing to the cluster, and
//! no rule can see whether a request is a dry run.
//!
//! **Architecture invariant:** a volume's or claim's API object never passes [`api`] on its way in,
//! and no rule names an API type.
//!
//! **Architecture invariant:** a review that panics ends nothing but itself; its answer is 500, and
//! it is counted.
//!
//! **Architecture invariant:** no object is logged, only its kind, namespace and name; no label of a
//! metric comes from a request; no metric is global.
//!
//! **Architecture invariant:** no request is sent twice behind a caller's back: the retries of the
//! client library are off.
//!
//! # How to add a rule
//!
//! One file and one word. Write `crates/core/src/rules/my_hazard.rs` with a `RULE` (copy the shape of
//! `crates/core/src/rules/bound_volume_delete.rs`), and put `my_hazard` into the list in `src/rules/mod.rs`.
//! Registrations, the reference page and the tests of its examples follow from the value:
//!
//! ```
//! use bindery::rules::{Mode, RULES, find};
//!
//! let rule = find("bound-volume-delete").expect("it is in the list");
//! assert_eq!(rule.mode, Mode::Deny);
//! assert!(!rule.refuses.is_empty() && !rule.allows.is_empty());
//! assert!(RULES.iter().all(|rule| !rule.request types.is_empty()));
//! ```
pub use bindery_core::{binding, model, rules};

pub mod api;
pub mod certificates;
pub mod cli;
pub mod client;
pub mod config;
pub mod controller;
pub mod document;
pub mod follow;
pub mod listen;
pub mod telemetry;
pub mod webhook;
