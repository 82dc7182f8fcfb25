/// Row by row, 0 black to 255 white; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Luma {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Luma {
    /// `None` unless there are `width * height` pixels.
    pub fn new(width: usize, height: usize, pixels: Vec<u8>) -> Option<Self> {
        let fits = width > 0 && width.checked_mul(height) == Some(pixels.len()) && height > 0;
        fits.then_some(Self {
            width,
            height,
            pixels,
        })
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn height(&self) -> usize {
        self.height
    }

    pub fn longer_side(&self) -> usize {
        self.width.max(self.height)
    }

    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// White outside the image.
    pub fn pixel(&self, x: usize, y: usize) -> u8 {
        if x < self.width {
            self.pixels
                .get(y * self.width + x)
                .copied()
                .unwrap_or(u8::MAX)
        } else {
            u8::MAX
        }
    }

    /// Averages squares of `factor * factor` pixels, without leftovers at the right and bottom;
    /// unchanged if nothing would be left.
    pub fn shrunk(&self, factor: usize) -> Self {
        let (width, height) = (self.width / factor.max(1), self.height / factor.max(1));
        if factor <= 1 || width == 0 || height == 0 {
            return self.clone();
        }
        let mut pixels = Vec::with_capacity(width * height);
        let mut sums = vec![0_u32; width];
        let area = u32::try_from(factor * factor).unwrap_or(u32::MAX);
        for band in self.pixels.chunks_exact(self.width * factor) {
            sums.fill(0);
            for row in band.chunks_exact(self.width) {
                for (sum, square) in sums.iter_mut().zip(row.chunks_exact(factor)) {
                    *sum += square.iter().map(|&pixel| u32::from(pixel)).sum::<u32>();
                }
            }
            pixels.extend(sums.iter().map(|sum| byte(sum / area)));
        }
        Self {
            width,
            height,
            pixels,
        }
    }

    pub fn doubled(&self) -> Self {
        let wide: Vec<Vec<u8>> = self
            .pixels
            .chunks_exact(self.width)
            .map(interleaved)
            .collect();
        let mut pixels = Vec::with_capacity(self.pixels.len() * 4);
        for (row, next) in wide.iter().zip(wide.iter().skip(1).chain(wide.last())) {
            pixels.extend_from_slice(row);
            pixels.extend(row.iter().zip(next).map(|(&a, &b)| a.midpoint(b)));
        }
        Self {
            width: self.width * 2,
            height: self.height * 2,
            pixels,
        }
    }

    /// Unsharp mask: adds `strength` times each pixel's difference from the mean of its square of
    /// `2 * radius + 1`.
    pub fn sharpened(&self, radius: usize, strength: i32) -> Self {
        let means = self.means(radius);
        let sharpen = |(&pixel, &mean): (&u8, &u8)| {
            let (pixel, mean) = (i32::from(pixel), i32::from(mean));
            let moved = pixel + (pixel - mean) * strength;
            u8::try_from(moved.clamp(0, 255)).unwrap_or(u8::MAX)
        };
        self.with_pixels(self.pixels.iter().zip(&means).map(sharpen).collect())
    }

    /// Makes pixels black that are darker than their local mean by more than `margin`, others
    /// white; removes shadows and glare.
    pub fn thresholded(&self, radius: usize, margin: u8) -> Self {
        let means = self.means(radius);
        let decide = |(&pixel, &mean): (&u8, &u8)| {
            if pixel.saturating_add(margin) < mean {
                u8::MIN
            } else {
                u8::MAX
            }
        };
        self.with_pixels(self.pixels.iter().zip(&means).map(decide).collect())
    }

    /// Local means; removes speckles and JPEG blocks.
    pub fn smoothed(&self, radius: usize) -> Self {
        self.with_pixels(self.means(radius))
    }

    fn with_pixels(&self, pixels: Vec<u8>) -> Self {
        Self {
            width: self.width,
            height: self.height,
            pixels,
        }
    }

    fn row(&self, y: usize) -> &[u8] {
        self.pixels
            .get(y * self.width..(y + 1) * self.width)
            .unwrap_or(&[])
    }

    /// Mean of each pixel's square within the image. The time does not depend on the radius.
    fn means(&self, radius: usize) -> Vec<u8> {
        let mut means = Vec::with_capacity(self.pixels.len());
        let mut columns = vec![0_u32; self.width];
        for y in 0..radius.min(self.height) {
            add(&mut columns, self.row(y));
        }
        for y in 0..self.height {
            if y + radius < self.height {
                add(&mut columns, self.row(y + radius));
            }
            if let Some(gone) = y.checked_sub(radius + 1) {
                subtract(&mut columns, self.row(gone));
            }
            let rows = (y + radius + 1).min(self.height) - y.saturating_sub(radius);
            self.push_row_of_means(&columns, radius, rows, &mut means);
        }
        means
    }

    fn push_row_of_means(&self, columns: &[u32], radius: usize, rows: usize, means: &mut Vec<u8>) {
        let mut sum: u32 = columns.iter().take(radius).sum();
        for x in 0..self.width {
            sum += columns.get(x + radius).copied().unwrap_or(0);
            if let Some(gone) = x.checked_sub(radius + 1) {
                sum -= columns.get(gone).copied().unwrap_or(0);
            }
            let in_row = (x + radius + 1).min(self.width) - x.saturating_sub(radius);
            means.push(byte(sum / u32::try_from(rows * in_row).unwrap_or(u32::MAX)));
        }
    }
}

fn add(columns: &mut [u32], row: &[u8]) {
    for (column, &pixel) in columns.iter_mut().zip(row) {
        *column += u32::from(pixel);
    }
}

fn subtract(columns: &mut [u32], row: &[u8]) {
    for (column, &pixel) in columns.iter_mut().zip(row) {
        *column -= u32::from(pixel);
    }
}

/// The row with the mean of two neighbors after each pixel.
fn interleaved(row: &[u8]) -> Vec<u8> {
    row.iter()
        .zip(row.iter().skip(1).chain(row.last()))
        .flat_map(|(&a, &b)| [a, a.midpoint(b)])
        .collect()
}

fn byte(mean: u32) -> u8 {
    u8::try_from(mean).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn image(width: usize, pixels: &[u8]) -> Luma {
        Luma::new(width, pixels.len() / width, pixels.to_vec()).expect("an image")
    }

    #[test]
    fn an_image_has_as_many_pixels_as_its_sides_say() {
        assert_eq!(Luma::new(2, 2, vec![0; 3]), None);
        assert_eq!(Luma::new(0, 2, vec![]), None);
        assert_eq!(Luma::new(usize::MAX, 2, vec![0; 3]), None);
    }

    #[test]
    fn shrinking_takes_means() {
        let wide = image(5, &[0, 10, 100, 200, 9, 20, 30, 100, 0, 9]);
        assert_eq!(wide.shrunk(2), image(2, &[15, 100]));
        assert_eq!(wide.shrunk(9), wide);
        let tall = image(3, &[9, 18, 27, 36, 45, 54, 63, 72, 81]);
        assert_eq!(tall.shrunk(3), image(1, &[45]));
    }

    #[test]
    fn doubling_puts_means_between() {
        assert_eq!(
            image(2, &[0, 100, 200, 50]).doubled(),
            image(
                4,
                &[
                    0, 50, 100, 100, 100, 87, 75, 75, 200, 125, 50, 50, 200, 125, 50, 50
                ]
            )
        );
        assert_eq!(image(1, &[8]).doubled(), image(2, &[8; 4]));
    }

    #[test]
    fn an_edge_becomes_steeper() {
        let edge = image(4, &[100, 100, 150, 150]);
        assert_eq!(edge.sharpened(1, 1).pixels(), [100, 84, 167, 150]);
    }

    #[test]
    fn what_is_outside_an_image_is_white() {
        let luma = image(2, &[1, 2, 3, 4]);
        assert_eq!(
            [luma.pixel(1, 1), luma.pixel(2, 0), luma.pixel(0, 2)],
            [4, 255, 255]
        );
    }

    #[test]
    fn what_is_as_dark_as_the_margin_says_is_not_black_yet() {
        assert_eq!(
            image(3, &[100, 100, 100]).thresholded(1, 0).pixels(),
            [255, 255, 255]
        );
        // The local mean is 95.
        assert_eq!(image(2, &[90, 100]).thresholded(1, 5).pixels(), [255, 255]);
        assert_eq!(image(2, &[90, 100]).thresholded(1, 4).pixels(), [0, 255]);
    }

    #[test]
    fn a_mark_is_black_in_light_and_in_shade() {
        for pixels in [[200, 200, 100, 200, 200], [60, 60, 20, 60, 60]] {
            assert_eq!(
                image(5, &pixels).thresholded(2, 5).pixels(),
                [255, 255, 0, 255, 255]
            );
        }
    }

    proptest! {
        #[test]
        fn means_are_what_they_are_by_hand(
            width in 1_usize..9, height in 1_usize..9, radius in 0_usize..12, seed in any::<[u8; 8]>(),
        ) {
            let pixels = (0..width * height).map(|i| seed[i % 8].wrapping_mul(u8::try_from(i).expect("small")));
            let luma = image(width, &pixels.collect::<Vec<_>>());
            let smoothed = luma.smoothed(radius);
            for y in 0..height {
                for x in 0..width {
                    let rows = y.saturating_sub(radius)..(y + radius + 1).min(height);
                    let columns = x.saturating_sub(radius)..(x + radius + 1).min(width);
                    let square = rows.flat_map(|y| columns.clone().map(move |x| (x, y)));
                    let values: Vec<_> = square.map(|(x, y)| usize::from(luma.pixel(x, y))).collect();
                    let mean = values.iter().sum::<usize>() / values.len();
                    prop_assert_eq!(usize::from(smoothed.pixel(x, y)), mean);
                }
            }
        }
    }
}
