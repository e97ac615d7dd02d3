//! A cluster in which volumes are moved: the in-tree binder, pods, users, and claims that take any volume they can.

use std::collections::BTreeMap;

use crate::model::{
    ClaimKey, Deletion, ReclaimPolicy, Reservation, ResourceVersion, Uid, VolumeName, VolumePhase,
};
use crate::moves::{
    ClaimRead, ClaimUsers, Goal, Journal, LiveClaim, MoveEvidence, MoveRead, MoveStep, MoveWrite,
    MovedVolume, SwapPartner, decide_move,
};

/// A volume, its journal, and whether its data is there.
#[derive(Clone, Debug)]
pub(crate) struct StoredVolume {
    pub moved: MovedVolume,
    pub journal: Option<Journal>,
    /// What was before any move.
    pub first_policy: ReclaimPolicy,
}

#[derive(Clone, Debug)]
pub(crate) struct StoredClaim {
    pub uid: Uid,
    pub version: u64,
    pub volume: Option<VolumeName>,
    pub deletion: Deletion,
    pub is_bound: bool,
    /// Whether a pod uses it.
    pub is_used: bool,
    pub fence: Option<ResourceVersion>,
    /// Whether it takes any volume: no user knows it.
    pub is_thief: bool,
}

/// What a process has read for the move of one volume, and the write that it decided on.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    pub volume: usize,
    pub journal: Journal,
    pub read: MovedVolume,
    pub step: MoveStep,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub volumes: Vec<StoredVolume>,
    pub claims: BTreeMap<ClaimKey, StoredClaim>,
    /// Names everything that is created or changed.
    count: u64,
}

pub(crate) fn key(name: &str) -> ClaimKey {
    ClaimKey::new("db", name)
}

impl World {
    /// Bound pairs of these names.
    pub(crate) fn with_pairs(names: &[&str], policy: &ReclaimPolicy) -> Self {
        let mut world = Self::default();
        for name in names {
            let uid = world.uid();
            let volume = MovedVolume {
                name: VolumeName::new(format!("pv-{name}")),
                uid: world.uid(),
                version: ResourceVersion::new(""),
                deletion: Deletion::NotAsked,
                policy: policy.clone(),
                reservation: Reservation::Held(key(name), uid.clone()),
                phase: VolumePhase::Bound,
            };
            let claim = StoredClaim {
                uid,
                version: 0,
                volume: Some(volume.name.clone()),
                deletion: Deletion::NotAsked,
                is_bound: true,
                is_used: false,
                fence: None,
                is_thief: false,
            };
            let first_policy = policy.clone();
            world.volumes.push(StoredVolume { moved: volume, journal: None, first_policy });
            let _ = world.claims.insert(key(name), claim);
            world.touch(world.volumes.len() - 1);
        }
        world
    }

    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn uid(&mut self) -> Uid {
        Uid::new(format!("uid-{}", self.next()))
    }

    /// A write to a volume gives it a new version.
    pub(crate) fn touch(&mut self, volume: usize) {
        let version = ResourceVersion::new(self.next().to_string());
        self.volumes[volume].moved.version = version;
    }

    /// The journal with which the move of a volume to `goal` begins.
    pub(crate) fn journal(
        &self,
        volume: usize,
        goal: Goal,
        direction: crate::moves::Direction,
    ) -> Option<Journal> {
        let moved = &self.volumes[volume].moved;
        let Reservation::Held(origin, uid) = &moved.reservation else { return None };
        let (policy, origin_uid) = (moved.policy.clone(), Some(uid.clone()));
        Some(Journal {
            policy,
            origin: origin.clone(),
            origin_uid,
            goal,
            direction,
            begun_on: moved.version.clone(),
        })
    }

    pub(crate) fn state(&self, key: &ClaimKey) -> ClaimRead {
        match self.claims.get(key) {
            None => ClaimRead::Absent,
            Some(claim) => ClaimRead::Present(LiveClaim {
                uid: claim.uid.clone(),
                version: ResourceVersion::new(claim.version.to_string()),
                volume: claim.volume.clone(),
                deletion: claim.deletion,
                is_bound: claim.is_bound,
                fence: claim.fence.clone(),
            }),
        }
    }

    fn users(&self, key: &ClaimKey) -> ClaimUsers {
        let is_used = self.claims.get(key).is_some_and(|claim| claim.is_used);
        ClaimUsers::Pods(if is_used { vec!["pod".into()] } else { Vec::new() })
    }

    fn partner(&self, volume: usize, journal: &Journal) -> SwapPartner {
        let Goal::Swap(_, name) = &journal.goal else { return SwapPartner::None };
        let partner = self.volumes.iter().find(|partner| partner.moved.name == *name);
        match partner.and_then(|partner| partner.journal.as_ref()) {
            Some(Journal { goal: Goal::Swap(to, with), origin_uid: Some(uid), .. })
                if *to == journal.origin && *with == self.volumes[volume].moved.name =>
            {
                SwapPartner::Ready(uid.clone())
            }
            Some(_) | None => SwapPartner::NotReady,
        }
    }

    /// Reads until a process knows the next step; what it read may be old when it writes.
    pub(crate) fn decide(&self, volume: usize, intended: Option<&Journal>) -> Option<Decided> {
        let stored = &self.volumes[volume];
        let journal = intended.or(stored.journal.as_ref())?.clone();
        let (mut holder, mut target, mut abandoned) =
            (ClaimRead::Unread, ClaimRead::Unread, ClaimRead::Unread);
        let (mut users, mut abandoned_users) = (ClaimUsers::Unread, ClaimUsers::Unread);
        let mut partner = SwapPartner::Unread;
        loop {
            let evidence = MoveEvidence {
                volume: &stored.moved,
                holder: &holder,
                users: &users,
                target: &target,
                abandoned: &abandoned,
                abandoned_users: &abandoned_users,
                partner: &partner,
                recorded: stored.journal.as_ref(),
                is_begun: intended.is_none(),
            };
            let step = decide_move(&evidence, &journal);
            let MoveStep::Read(read) = step else {
                return Some(Decided { volume, journal, read: stored.moved.clone(), step });
            };
            let holder_key = stored.moved.reservation.key().unwrap();
            match read {
                MoveRead::Holder => holder = self.state(holder_key),
                MoveRead::HolderUsers => users = self.users(holder_key),
                MoveRead::Target => target = self.state(journal.goal.claim()),
                MoveRead::Abandoned => abandoned = self.state(journal.abandoned().unwrap()),
                MoveRead::AbandonedUsers => {
                    abandoned_users = self.users(journal.abandoned().unwrap());
                }
                MoveRead::Partner => partner = self.partner(volume, &journal),
            }
        }
    }

    /// Sends the write that was decided; the API server rejects it if the object has changed since. Whether it was made.
    pub(crate) fn write(&mut self, decided: &Decided) -> bool {
        let Decided { volume, journal, read, step } = decided;
        let MoveStep::Write(write) = step else { return false };
        let is_fresh = self.volumes[*volume].moved.version == read.version;
        match write {
            MoveWrite::DeleteClaim(key, uid, version) => {
                let claim = self.claims.get(key);
                let is_it = claim.is_some_and(|claim| {
                    claim.uid == *uid && claim.version.to_string() == version.to_string()
                });
                if is_it {
                    self.delete(key);
                }
                is_it
            }
            MoveWrite::Fence(key, uid, version) => {
                let new = self.next();
                let claim = self.claims.get_mut(key).filter(|claim| {
                    claim.uid == *uid && claim.version.to_string() == version.to_string()
                });
                let Some(claim) = claim else { return false };
                claim.fence = Some(journal.begun_on.clone());
                claim.version = new;
                true
            }
            MoveWrite::CreateClaim(key) => self.create(key, Some(&read.name), false),
            MoveWrite::Record | MoveWrite::Reserve(..) | MoveWrite::Finish if !is_fresh => false,
            MoveWrite::Record => {
                let stored = &mut self.volumes[*volume];
                stored.journal = Some(journal.clone());
                stored.moved.policy = ReclaimPolicy::Retain;
                self.touch(*volume);
                true
            }
            MoveWrite::Reserve(key, uid) => {
                self.volumes[*volume].moved.reservation =
                    Reservation::Held(key.clone(), uid.clone());
                self.touch(*volume);
                true
            }
            MoveWrite::Finish => {
                let stored = &mut self.volumes[*volume];
                stored.journal = None;
                stored.moved.policy = journal.policy.clone();
                self.touch(*volume);
                true
            }
        }
    }

    /// Creates a claim, if there is none of its name.
    pub(crate) fn create(
        &mut self,
        key: &ClaimKey,
        volume: Option<&VolumeName>,
        is_thief: bool,
    ) -> bool {
        if self.claims.contains_key(key) {
            return false;
        }
        let claim = StoredClaim {
            uid: self.uid(),
            version: self.next(),
            volume: volume.cloned(),
            deletion: Deletion::NotAsked,
            is_bound: false,
            is_used: false,
            fence: None,
            is_thief,
        };
        self.claims.insert(key.clone(), claim).is_none()
    }

    /// Deletes a claim; while a pod uses it, it only is Terminating.
    pub(crate) fn delete(&mut self, key: &ClaimKey) {
        let version = self.next();
        match self.claims.get_mut(key) {
            Some(claim) if claim.is_used => {
                claim.deletion = Deletion::Terminating;
                claim.version = version;
            }
            Some(_) | None => {
                let _ = self.claims.remove(key);
            }
        }
    }

    /// A pod starts or ends with the claim. It starts only with one that is bound and stays.
    pub(crate) fn set_used(&mut self, key: &ClaimKey, is_used: bool) {
        let Some(claim) = self.claims.get_mut(key) else { return };
        if is_used && (!claim.is_bound || claim.deletion == Deletion::Terminating) {
            return;
        }
        claim.is_used = is_used;
        if !is_used && claim.deletion == Deletion::Terminating {
            let _ = self.claims.remove(key);
        }
    }

    /// The in-tree binder syncs everything once. Returns whether it changed anything.
    ///
    /// Kubernetes: `pv_controller.go`, `syncVolume`, `syncUnboundClaim`, `syncBoundClaim`.
    pub(crate) fn bind(&mut self) -> bool {
        let volumes: Vec<bool> =
            (0..self.volumes.len()).map(|volume| self.sync_volume(volume)).collect();
        let keys: Vec<ClaimKey> = self.claims.keys().cloned().collect();
        let claims: Vec<bool> = keys.iter().map(|key| self.sync_claim(key)).collect();
        volumes.contains(&true) || claims.contains(&true)
    }

    fn sync_volume(&mut self, volume: usize) -> bool {
        let moved = &self.volumes[volume].moved;
        let claim = moved.reservation.key().and_then(|key| self.claims.get(key));
        let phase = match &moved.reservation {
            Reservation::Held(_, uid) => match claim.filter(|claim| claim.uid == *uid) {
                Some(claim) if claim.volume.as_ref() == Some(&moved.name) => VolumePhase::Bound,
                Some(_) => return false,
                None => VolumePhase::Released,
            },
            Reservation::Free | Reservation::Named(_) | Reservation::Incomplete(..) => {
                VolumePhase::Available
            }
        };
        if phase == moved.phase {
            return false;
        }
        self.volumes[volume].moved.phase = phase;
        self.touch(volume);
        true
    }

    fn sync_claim(&mut self, key: &ClaimKey) -> bool {
        let version = self.next();
        let Some(claim) = self.claims.get_mut(key) else { return false };
        let found = self.volumes.iter().position(|stored| match &claim.volume {
            Some(name) => stored.moved.name == *name,
            None => is_open(&stored.moved.reservation, key),
        });
        let Some(stored) = found.map(|volume| &mut self.volumes[volume]) else { return false };
        let is_free = is_open(&stored.moved.reservation, key);
        let is_ours = stored.moved.reservation.uid() == Some(&claim.uid);
        if !(is_free || is_ours) || (claim.is_bound && is_ours) {
            return false;
        }
        claim.volume = Some(stored.moved.name.clone());
        (claim.is_bound, claim.version) = (true, version);
        stored.moved.reservation = Reservation::Held(key.clone(), claim.uid.clone());
        stored.moved.phase = VolumePhase::Bound;
        if let Some(volume) = found {
            self.touch(volume);
        }
        true
    }
}

/// Whether the binder gives a volume with this reservation to a claim of this name.
fn is_open(reservation: &Reservation, key: &ClaimKey) -> bool {
    *reservation == Reservation::Free || *reservation == Reservation::Named(key.clone())
}
