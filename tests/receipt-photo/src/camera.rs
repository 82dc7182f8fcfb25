//! Photographs a receipt: perspective, waves in the paper, light, blur and noise.
#![expect(
    clippy::as_conversions,
    reason = "pixel positions and values of a drawing, all small"
)]

use image::{GrayImage, ImageBuffer, Luma};

use crate::look::Look;
use crate::paper::{MODULE, Paper};
use crate::random::Sequence;

/// Not yet rounded or clipped: 0 is black, 255 paper in full light.
type Light = ImageBuffer<Luma<f32>, Vec<f32>>;

/// Sample points per side of a pixel.
const POINTS: u16 = 2;

/// Brightness of the table.
const TABLE: f32 = 90.0;

/// Brightness of fresh paper and ink.
const PAPER: f32 = 225.0;
const INK: f32 = 35.0;

/// Pixels of the paper.
const WAVE: f32 = 360.0;

pub(crate) fn photograph(paper: &Paper, look: &Look, seed: u64) -> GrayImage {
    let mut random = Sequence::new(seed);
    let scene = Scene::new(paper, look, &mut random);
    let mut light = Light::from_fn(look.width, look.height, |x, y| {
        Luma([scene.pixel(x as f32, y as f32)])
    });
    if look.blur > 0.05 {
        light = image::imageops::blur(&light, look.blur);
    }
    if look.shake >= 1.0 {
        light = shaken(
            &light,
            look.shake,
            random.between(0.0, std::f32::consts::TAU),
        );
    }
    let noisy = |Luma([value]): &Luma<f32>| {
        Luma([(value + random.normal() * look.noise).clamp(0.0, 255.0) as u8])
    };
    let values = light
        .pixels()
        .map(noisy)
        .flat_map(|Luma([value])| [value])
        .collect();
    GrayImage::from_raw(look.width, look.height, values).unwrap_or_default()
}

struct Scene<'a> {
    paper: &'a Paper,
    look: &'a Look,
    middle: (f32, f32),
    /// Pixels of the photo.
    distance: f32,
    /// Axes and normal of the paper, in the phone's coordinates.
    across: [f32; 3],
    down: [f32; 3],
    facing: [f32; 3],
    wave_start: f32,
    shadow: (f32, f32),
}

impl<'a> Scene<'a> {
    fn new(paper: &'a Paper, look: &'a Look, random: &mut Sequence) -> Self {
        let (width, height) = (look.width as f32, look.height as f32);
        let shift = |side: f32, random: &mut Sequence| side * (0.5 + random.between(-0.06, 0.06));
        let middle = (shift(width, random), shift(height, random));
        let (sin, cos) = look.turned.to_radians().sin_cos();
        let (lean_sin, lean_cos) = look.leaning.to_radians().sin_cos();
        let (way_sin, way_cos) = random.between(0.0, std::f32::consts::TAU).sin_cos();
        // Rotation in the plane, then about the axis (way_cos, way_sin, 0): Rodrigues' formula.
        let lean = |[x, y, z]: [f32; 3]| {
            let along = (way_cos * x + way_sin * y) * (1.0 - lean_cos);
            [
                x * lean_cos + way_sin * z * lean_sin + way_cos * along,
                y * lean_cos - way_cos * z * lean_sin + way_sin * along,
                z * lean_cos + (way_cos * y - way_sin * x) * lean_sin,
            ]
        };
        Self {
            paper,
            look,
            middle,
            distance: 1.3 * height,
            across: lean([cos, sin, 0.0]),
            down: lean([-sin, cos, 0.0]),
            facing: lean([0.0, 0.0, 1.0]),
            wave_start: random.between(0.0, WAVE),
            shadow: random.between(0.0, std::f32::consts::TAU).sin_cos(),
        }
    }

    fn pixel(&self, x: f32, y: f32) -> f32 {
        let mut sum = 0.0;
        for row in 0..POINTS {
            for column in 0..POINTS {
                let at = |step: u16| (f32::from(step) + 0.5) / f32::from(POINTS);
                sum += self.point(x + at(column), y + at(row));
            }
        }
        sum / f32::from(POINTS * POINTS) * self.lighting(x, y)
    }

    /// Brightness of the paper behind a point of the photo.
    fn point(&self, x: f32, y: f32) -> f32 {
        let sight = [x - self.middle.0, y - self.middle.1, self.distance];
        let reach = self.distance * self.facing[2] / dot(sight, self.facing);
        let met = [
            sight[0] * reach,
            sight[1] * reach,
            sight[2] * reach - self.distance,
        ];
        let scale = MODULE as f32 / self.look.module;
        let (across, down) = (dot(met, self.across) * scale, dot(met, self.down) * scale);
        let phase = (down + self.wave_start) / WAVE * std::f32::consts::TAU;
        let (sin, cos) = phase.sin_cos();
        let down = down + self.look.curl * scale * sin;
        let across = across + self.look.curl * scale * 0.4 * cos;
        let ink = self.ink(across + self.paper.middle.0, down + self.paper.middle.1);
        // One side of a wave is darker.
        let slope = 1.0 - 0.012 * self.look.curl.min(20.0) * (1.0 + cos) / 2.0;
        ink.map_or(TABLE, |ink| {
            slope * (PAPER - (PAPER - INK) * ink * (1.0 - self.look.faded))
        })
    }

    /// 0 for blank paper, 1 for ink; `None` beside the paper.
    fn ink(&self, x: f32, y: f32) -> Option<f32> {
        let (x, y) = (x.floor() as i64, y.floor() as i64);
        let (x, y) = (u32::try_from(x).ok()?, u32::try_from(y).ok()?);
        let Luma([value]) = self.paper.print.get_pixel_checked(x, y)?;
        Some(1.0 - f32::from(*value) / 255.0)
    }

    /// A soft shadow from one side, with its edge across the middle.
    fn lighting(&self, x: f32, y: f32) -> f32 {
        let side = (x - self.middle.0) * self.shadow.0 + (y - self.middle.1) * self.shadow.1;
        let soft = (side / self.look.height as f32 + 0.5).clamp(0.0, 1.0);
        let edge = (side / (10.0 * self.look.module)).clamp(0.0, 1.0);
        1.0 - 0.85 * self.look.shadow * (0.4 * soft + 0.6 * edge)
    }
}

/// Motion blur: the mean along a line.
fn shaken(light: &Light, length: f32, direction: f32) -> Light {
    let (sin, cos) = direction.sin_cos();
    let steps = length.ceil() as i16;
    let offsets: Vec<(i64, i64)> = (0..=steps)
        .map(|step| length * (f32::from(step) / f32::from(steps) - 0.5))
        .map(|at| ((at * cos).round() as i64, (at * sin).round() as i64))
        .collect();
    Light::from_fn(light.width(), light.height(), |x, y| {
        let sum: f32 = offsets
            .iter()
            .map(|(dx, dy)| {
                let x = (i64::from(x) + dx).clamp(0, i64::from(light.width()) - 1);
                let y = (i64::from(y) + dy).clamp(0, i64::from(light.height()) - 1);
                light.get_pixel(x as u32, y as u32).0[0]
            })
            .sum();
        Luma([sum / offsets.len() as f32])
    })
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
