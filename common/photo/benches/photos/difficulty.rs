//! Flaws in a photo, each in four steps.

use receipt_photo::Look;

const STEPS: usize = 4;

pub(crate) struct Difficulty {
    pub(crate) name: &'static str,
    steps: [f32; STEPS],
    apply: fn(&mut Shot, f32),
}

/// Look and encoding of a photo.
#[derive(Clone, Copy)]
pub(crate) struct Shot {
    pub(crate) look: Look,
    /// JPEG quality from 1 to 100; a float like other steps.
    quality: f32,
}

/// Each step is harder than the one before.
pub(crate) const DIFFICULTIES: &[Difficulty] = &[
    Difficulty {
        name: "turned",
        steps: [15.0, 30.0, 45.0, 80.0],
        apply: |shot, step| shot.look.turned += step,
    },
    Difficulty {
        name: "leaning",
        steps: [20.0, 30.0, 40.0, 50.0],
        apply: |shot, step| shot.look.leaning = step,
    },
    Difficulty {
        name: "curled",
        steps: [4.0, 8.0, 12.0, 16.0],
        apply: |shot, step| shot.look.curl = step,
    },
    Difficulty {
        name: "out of focus",
        steps: [1.5, 2.0, 2.5, 3.0],
        apply: |shot, step| shot.look.blur = step,
    },
    Difficulty {
        name: "shaken",
        steps: [4.0, 6.0, 8.0, 10.0],
        apply: |shot, step| shot.look.shake = step,
    },
    Difficulty {
        name: "in the shade",
        steps: [0.5, 0.7, 0.85, 0.95],
        apply: |shot, step| shot.look.shadow = step,
    },
    Difficulty {
        name: "faded",
        steps: [0.5, 0.7, 0.8, 0.9],
        apply: |shot, step| shot.look.faded = step,
    },
    Difficulty {
        name: "noisy",
        steps: [15.0, 30.0, 45.0, 60.0],
        apply: |shot, step| shot.look.noise = step,
    },
    Difficulty {
        name: "small",
        steps: [3.0, 2.5, 2.0, 1.6],
        apply: |shot, step| shot.look.module = step,
    },
    Difficulty {
        name: "small, of 12 megapixels",
        steps: [4.0, 3.5, 3.0, 2.5],
        apply: |shot, step| {
            (shot.look.width, shot.look.height) = (3_000, 4_000);
            shot.look.module = step;
        },
    },
    Difficulty {
        name: "JPEG",
        steps: [30.0, 15.0, 8.0, 4.0],
        apply: |shot, step| shot.quality = step,
    },
    Difficulty {
        name: "some of each",
        steps: [0.4, 0.6, 0.8, 1.0],
        apply: |shot, step| {
            shot.look.turned += 60.0 * step;
            shot.look.leaning = 25.0 * step;
            shot.look.curl = 6.0 * step;
            shot.look.blur = 1.5 * step;
            shot.look.shake = 3.0 * step;
            shot.look.shadow = 0.7 * step;
            shot.look.faded = 0.5 * step;
            shot.look.noise = 12.0 * step;
            shot.quality = 40.0;
        },
    },
];

impl Difficulty {
    /// A shot for each step, slightly different by number.
    pub(crate) fn shots(&self, number: u64) -> impl Iterator<Item = Shot> {
        let turned = f32::from(u8::try_from(number * 37 % 17).unwrap_or_default()) - 8.0;
        let usual = Shot {
            look: Look {
                turned,
                ..Look::default()
            },
            quality: 80.0,
        };
        self.steps.into_iter().map(move |step| {
            let mut shot = usual;
            (self.apply)(&mut shot, step);
            shot
        })
    }
}

impl Shot {
    #[expect(
        clippy::as_conversions,
        reason = "a whole number that the table above holds"
    )]
    pub(crate) fn quality(&self) -> u8 {
        self.quality as u8
    }
}
