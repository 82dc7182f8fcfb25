//! One function's environments. Each handles one request at a time; a new one starts when all are
//! busy.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::environment::Environment;
use crate::random::Random;

/// The choice among idle environments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    Even,
    /// The last busy one, so that some are hardly used.
    Skewed,
}

pub struct Fleet {
    program: PathBuf,
    arguments: Vec<&'static str>,
    variables: BTreeMap<String, String>,
    routing: Routing,
    idle: Mutex<(Vec<Environment>, Random)>,
    started: AtomicUsize,
}

impl Fleet {
    pub fn new(
        program: PathBuf,
        arguments: &[&'static str],
        variables: BTreeMap<String, String>,
        routing: Routing,
    ) -> Self {
        let idle = Mutex::new((Vec::new(), Random::new(1)));
        Self {
            program,
            arguments: arguments.to_vec(),
            variables,
            routing,
            idle,
            started: AtomicUsize::new(0),
        }
    }

    /// Starts until `environments` are initialized and idle.
    pub async fn warm_up(&self, environments: usize) {
        let missing = environments.saturating_sub(self.idle.lock().expect("not poisoned").0.len());
        for _ in 0..missing {
            let mut environment = self.start().await;
            environment.first_poll().await.expect("the function starts");
            self.give_back(environment);
        }
    }

    /// Environments started in all.
    pub fn started(&self) -> usize {
        self.started.load(Ordering::Relaxed)
    }

    /// Hands an event to an idle or new environment; `None` if it failed.
    pub async fn invoke(&self, event: &Value) -> Option<Value> {
        let mut environment = self.take().await;
        let answer = environment.invoke(event).await;
        if answer.is_some() {
            self.give_back(environment);
        }
        answer
    }

    /// Hands over an event and kills the process once `working` completes.
    pub async fn kill_during(&self, event: &Value, working: impl Future<Output = ()>) {
        self.take().await.kill_during(event, working).await;
    }

    async fn take(&self) -> Environment {
        match self.idle_one() {
            Some(environment) => environment,
            None => self.start().await,
        }
    }

    fn idle_one(&self) -> Option<Environment> {
        let mut idle = self.idle.lock().expect("not poisoned");
        let (environments, random) = &mut *idle;
        match (self.routing, environments.len()) {
            (_, 0) => None,
            (Routing::Skewed, _) => environments.pop(),
            (Routing::Even, idle) => {
                let picked = random.below(u32::try_from(idle).expect("a few hundred"));
                Some(environments.swap_remove(usize::try_from(picked).expect("a few hundred")))
            }
        }
    }

    fn give_back(&self, environment: Environment) {
        self.idle.lock().expect("not poisoned").0.push(environment);
    }

    async fn start(&self) -> Environment {
        self.started.fetch_add(1, Ordering::Relaxed);
        Environment::start(&self.program, &self.arguments, &self.variables).await
    }
}
