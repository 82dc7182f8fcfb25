//! `pow` and `hypotf` within the program.
//!
//! The AWS SDK, for adaptive retries, which are not used here, and a reader of QR codes call them. Taken from libm.so,
//! they would make a start load that library, for about a tenth of the time that it takes. What a program defines
//! itself is found first. Both are declared as in C99, 7.12.7.

/// `x` to the power of `y`.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the linker finds it by C's name, and its signature is C's")]
pub extern "C" fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// The root of the sum of the squares of `x` and `y`: infinite when either is, even beside what is no number.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the linker finds it by C's name, and its signature is C's")]
pub extern "C" fn hypotf(x: f32, y: f32) -> f32 {
    if x.is_infinite() || y.is_infinite() {
        return f32::INFINITY;
    }
    let (x, y) = (f64::from(x), f64::from(y));
    // Squares of 24 bits have room in 53, and so have their exponents.
    #[expect(clippy::as_conversions, reason = "it rounds, and to infinity what is too large")]
    let root = (x * x + y * y).sqrt() as f32;
    root
}

#[cfg(test)]
mod tests {
    use super::{hypotf, pow};

    #[test]
    fn powers_are_those_of_arithmetic() {
        assert_eq!(pow(2.0, 10.0), 1_024.0);
        assert_eq!(pow(4.0, -0.5), 0.5);
        assert!((pow(27.0, 1.0 / 3.0) - 3.0).abs() < 1e-15);
        assert!(pow(-1.0, 0.5).is_nan());
    }

    #[test]
    fn lengths_are_those_of_pythagoras_however_large_or_small() {
        assert_eq!(hypotf(3.0, -4.0), 5.0);
        assert_eq!(hypotf(3.0e38, 0.0), 3.0e38);
        assert_eq!(hypotf(1.2e38, 1.6e38), 2.0e38);
        assert_eq!(hypotf(3.0e-45, 4.0e-45), 5.0e-45);
        assert_eq!(hypotf(f32::MAX, f32::MAX), f32::INFINITY);
    }

    #[test]
    fn an_infinite_leg_makes_an_infinite_length() {
        assert_eq!(hypotf(f32::NAN, f32::NEG_INFINITY), f32::INFINITY);
        assert!(hypotf(f32::NAN, 1.0).is_nan());
    }
}
