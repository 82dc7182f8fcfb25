//! Decoded, refused and damaged files; none may panic.

use image::{GrayImage, ImageFormat};
use proptest::prelude::*;
use receipt_photo::{jpeg, webp};

use super::*;

/// A gradient with a dark corner at the top left.
fn picture() -> GrayImage {
    GrayImage::from_fn(48, 32, |x, y| {
        let value = if x < 16 && y < 16 { 0 } else { 100 + 2 * x + y };
        image::Luma([u8::try_from(value).expect("a byte")])
    })
}

fn written(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut file = std::io::Cursor::new(Vec::new());
    image.write_to(&mut file, format).expect("written");
    file.into_inner()
}

fn is_close(luma: &Luma, picture: &GrayImage) -> bool {
    let size = (u32::try_from(luma.width()), u32::try_from(luma.height()));
    size == (Ok(picture.width()), Ok(picture.height()))
        && luma
            .pixels()
            .iter()
            .zip(picture.as_raw())
            .all(|(a, b)| a.abs_diff(*b) < 24)
}

fn png_of(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, content) in chunks {
        let named = [&name[..], content].concat();
        let mut check = u32::MAX;
        for byte in &named {
            check ^= u32::from(*byte);
            for _ in 0..8 {
                check = if check & 1 == 1 {
                    check >> 1 ^ 0xedb8_8320
                } else {
                    check >> 1
                };
            }
        }
        file.extend(u32::try_from(content.len()).expect("short").to_be_bytes());
        file.extend(named);
        file.extend((!check).to_be_bytes());
    }
    file
}

fn png_header(width: u32, height: u32, depth_to_interlace: [u8; 5]) -> Vec<u8> {
    [
        &width.to_be_bytes()[..],
        &height.to_be_bytes(),
        &depth_to_interlace,
    ]
    .concat()
}

fn stored(bytes: &[u8]) -> Vec<u8> {
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    let length = u16::try_from(bytes.len()).expect("short");
    let head = [
        &[0x78, 0x01, 0x01][..],
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
    ]
    .concat();
    [&head, bytes, &(b << 16 | a).to_be_bytes()].concat()
}

fn webp_of(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut content = b"WEBP".to_vec();
    for (name, chunk) in chunks {
        content.extend_from_slice(*name);
        content.extend(u32::try_from(chunk.len()).expect("short").to_le_bytes());
        content.extend_from_slice(chunk);
        content.extend(vec![0; chunk.len() % 2]);
    }
    [
        &b"RIFF"[..],
        &u32::try_from(content.len()).expect("short").to_le_bytes(),
        &content,
    ]
    .concat()
}

fn exif(orientation: u8) -> Vec<u8> {
    [
        &b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"[..],
        &[orientation],
        &[0; 6],
    ]
    .concat()
}

fn jpeg_with(orientation: u8) -> Vec<u8> {
    let plain = jpeg(&picture(), 90).expect("a photo");
    let exif = [&b"Exif\0\0"[..], &exif(orientation)].concat();
    let length = u16::try_from(exif.len() + 2).expect("short").to_be_bytes();
    [&plain[..2], b"\xff\xe1", &length, &exif, &plain[2..]].concat()
}

#[test]
fn the_three_formats_show_the_same_picture() {
    for file in [
        jpeg(&picture(), 90),
        receipt_photo::png(&picture()),
        webp(&picture()),
    ] {
        assert!(is_close(
            &decode(&file.expect("a photo")).expect("decoded"),
            &picture()
        ));
    }
}

#[test]
fn a_gray_jpeg_is_as_good() {
    let file = written(&picture().into(), ImageFormat::Jpeg);
    assert!(is_close(&decode(&file).expect("decoded"), &picture()));
}

#[test]
fn what_is_no_image_is_refused() {
    for bytes in [
        &b""[..],
        b"\xff",
        b"hello, I am a receipt",
        b"%PDF-1.7\n",
        b"<svg/>",
        b"GIF89a",
    ] {
        assert_eq!(decode(bytes), Err(NotDecoded::NotAnImage));
    }
    assert_eq!(
        decode(&vec![0xff; 5 * 1024 * 1024 + 1]),
        Err(NotDecoded::TooManyBytes)
    );
}

#[test]
fn fill_bytes_before_a_marker_of_a_jpeg_are_skipped() {
    let file = jpeg(&picture(), 90).expect("a photo");
    let filled = [&file[..2], b"\xff\xff\xff", &file[2..]].concat();
    assert_eq!(jpeg::size(&filled), Some((48, 32)));
    assert!(is_close(&decode(&filled).expect("a picture"), &picture()));
}

#[test]
fn what_only_begins_like_an_image_is_no_picture() {
    let no_sides = png_of(&[(b"IHDR", png_header(0, 9, [8, 0, 0, 0, 0]))]);
    for bytes in [
        &b"\xff\xd8\xff"[..],
        b"\xff\xd8\xff\xe0 and nothing more",
        b"\xff\xd8\xff\xda\x00\x08\xff\xc0\x00\x0b\x08\x00\x09\x00\x09",
        b"\x89PNG\r\n\x1a\n",
        &no_sides,
        b"RIFF\x04\0\0\0WEBP",
        b"RIFF\x04\0\0\0WEBPVP8X\x0a\0\0\0\0\0",
    ] {
        assert_eq!(decode(bytes), Err(NotDecoded::NoHeader));
    }
    assert!(NotDecoded::NoHeader.is_no_picture() && NotDecoded::NotAnImage.is_no_picture());
}

#[test]
fn a_picture_with_a_size_is_damaged_however_soon_it_goes_wrong() {
    for file in [
        jpeg(&picture(), 90),
        receipt_photo::png(&picture()),
        webp(&picture()),
    ] {
        let file = file.expect("a photo");
        let photo_type = PhotoType::from_magic_bytes(&file).expect("a type");
        let mut told = 0;
        for end in 0..file.len() {
            match decode(&file[..end]) {
                Err(fault @ NotDecoded::Damaged(_)) => {
                    assert!(
                        !fault.is_no_picture() && has_size(photo_type, &file[..end]),
                        "{photo_type:?} {end}"
                    );
                    told += 1;
                }
                Err(NotDecoded::NoHeader) => {
                    assert!(!has_size(photo_type, &file[..end]), "{photo_type:?} {end}")
                }
                Err(NotDecoded::NotAnImage) => assert!(end < 12, "{photo_type:?} {end}"),
                // A file's last bytes may hold no pixels.
                Ok(_) => {}
                Err(other) => panic!("{photo_type:?} {end}: {other}"),
            }
        }
        assert!(told > 0, "{photo_type:?}");
    }
}

#[test]
fn half_a_jpeg_shows_its_upper_half() {
    let photo = GrayImage::from_fn(256, 256, |x, y| {
        image::Luma([if (x / 32 + y / 32) % 2 == 0 { 30 } else { 220 }])
    });
    let file = jpeg(&photo, 90).expect("a photo");
    let luma = decode(&file[..file.len() * 3 / 4]).expect("decoded");
    assert_eq!((luma.width(), luma.height()), (256, 256));
    assert!(luma.pixel(16, 16) < 60 && luma.pixel(48, 16) > 190);
}

#[test]
fn half_a_png_or_webp_is_damaged() {
    for file in [receipt_photo::png(&picture()), webp(&picture())] {
        let file = file.expect("a photo");
        assert!(matches!(
            decode(&file[..file.len() / 2]),
            Err(NotDecoded::Damaged(_))
        ));
    }
}

#[test]
fn a_png_that_says_it_is_huge_is_refused_by_its_header() {
    let file = png_of(&[(b"IHDR", png_header(20_000, 20_000, [8, 2, 0, 0, 0]))]);
    assert_eq!(
        decode(&file),
        Err(NotDecoded::TooManyPixels {
            width: 20_000,
            height: 20_000
        })
    );
}

#[test]
fn a_jpeg_that_says_it_is_huge_is_refused_by_its_header() {
    let mut file = jpeg(&picture(), 90).expect("a photo");
    let frame = file
        .windows(2)
        .position(|marker| marker == b"\xff\xc0")
        .expect("a frame header");
    file[frame + 5..frame + 9].copy_from_slice(b"\xff\xff\xff\xff");
    assert_eq!(
        decode(&file),
        Err(NotDecoded::TooManyPixels {
            width: 65_535,
            height: 65_535
        })
    );
}

#[test]
fn a_webp_that_says_it_is_huge_is_refused_by_its_header() {
    let canvas = webp_of(&[(b"VP8X", b"\0\0\0\0\xff\xff\xff\xff\xff\xff")]);
    assert_eq!(
        decode(&canvas),
        Err(NotDecoded::TooManyPixels {
            width: 1 << 24,
            height: 1 << 24
        })
    );
    let lossless = webp_of(&[(b"VP8L", b"\x2f\xff\xff\xff\x0f\0\0\0")]);
    assert_eq!(
        decode(&lossless),
        Err(NotDecoded::TooManyPixels {
            width: 16_384,
            height: 16_384
        })
    );
    let lossy: &[u8] = b"\x10\0\0\x9d\x01\x2a\xff\x3f\xff\x3f\0\0";
    let inside_a_small_canvas = webp_of(&[(b"VP8X", &[0; 10]), (b"VP8 ", lossy)]);
    assert_eq!(
        decode(&inside_a_small_canvas),
        Err(NotDecoded::TooManyPixels {
            width: 16_383,
            height: 16_383
        })
    );
}

#[test]
fn each_side_of_a_webp_is_read_from_its_own_bits() {
    let refused = |name: &[u8; 4], header: &[u8]| decode(&webp_of(&[(name, header)]));
    let too_many = |width, height| Err(NotDecoded::TooManyPixels { width, height });
    // A canvas stores each side less one in 24 bits.
    assert_eq!(
        refused(b"VP8X", b"\0\0\0\0\x20\x4e\0\x02\0\0"),
        too_many(20_001, 3)
    );
    assert_eq!(
        refused(b"VP8X", b"\0\0\0\0\x02\0\0\x20\x4e\x01"),
        too_many(3, 85_537)
    );
    // A lossy frame stores each side in 14 bits, below two bits of scaling.
    let frame = |width: u16, height: u16| {
        let sides = u32::from(width) | 1 << 14 | u32::from(height) << 16 | 1 << 31;
        [&b"\x10\0\0\x9d\x01\x2a"[..], &sides.to_le_bytes()].concat()
    };
    assert_eq!(
        refused(b"VP8 ", &frame(16_001, 2_502)),
        too_many(16_001, 2_502)
    );
    assert_eq!(
        refused(b"VP8 ", &frame(2_502, 16_001)),
        too_many(2_502, 16_001)
    );
    // A lossless frame stores each side less one in 14 bits, then four other bits.
    let lossless = |width: u32, height: u32| {
        let sides = (width - 1) | (height - 1) << 14 | 1 << 28;
        [&b"\x2f"[..], &sides.to_le_bytes()].concat()
    };
    assert_eq!(
        refused(b"VP8L", &lossless(16_001, 2_502)),
        too_many(16_001, 2_502)
    );
    assert_eq!(
        refused(b"VP8L", &lossless(2_502, 16_001)),
        too_many(2_502, 16_001)
    );
}

#[test]
fn the_largest_picture_has_40_million_pixels_and_sides_of_16384() {
    for (width, height) in [(8_000, 5_000), (MAX_SIDE, 1), (1, MAX_SIDE)] {
        let size = Size::bounded(width, height).expect("not too large");
        assert_eq!((size.width, size.height), (width, height));
    }
    for (width, height) in [(8_000, 5_001), (MAX_SIDE + 1, 1), (1, MAX_SIDE + 1)] {
        assert_eq!(
            Size::bounded(width, height).err(),
            Some(NotDecoded::TooManyPixels { width, height })
        );
    }
    for (width, height) in [(0, 1), (1, 0)] {
        assert!(matches!(
            Size::bounded(width, height),
            Err(NotDecoded::Damaged(_))
        ));
    }
}

#[test]
fn a_file_of_exactly_the_largest_size_is_looked_at() {
    assert_eq!(
        decode(&vec![0; 5 * 1024 * 1024]),
        Err(NotDecoded::NotAnImage)
    );
}

#[test]
fn each_colour_has_its_share_of_the_gray() {
    let colours = [
        [255, 255, 255],
        [255, 0, 0],
        [0, 255, 0],
        [0, 0, 255],
        [10, 100, 200],
    ];
    let grays = colours.map(brightness);
    assert_eq!(grays, [255, 76, 149, 28, 84]);
    assert_eq!(
        [(100, 255), (100, 128), (100, 0), (0, 255)].map(|(g, a)| on_white(g, a)),
        [100, 177, 255, 0]
    );
}

#[test]
fn a_gray_png_may_be_transparent() {
    let see_through = image::GrayAlphaImage::from_raw(3, 1, vec![10, 255, 10, 0, 90, 255]);
    let file = written(&see_through.expect("three pixels").into(), ImageFormat::Png);
    assert_eq!(decode(&file).expect("decoded").pixels(), [10, 255, 90]);
}

#[test]
fn an_animation_is_refused() {
    let file = webp_of(&[
        (b"VP8X", b"\x02\0\0\0\x0f\0\0\x0f\0\0"),
        (b"ANIM", &[0; 6]),
        (b"ANMF", &[0; 32]),
    ]);
    assert_eq!(decode(&file), Err(NotDecoded::Animated));
    for chunk in [b"ANIM", b"ANMF"] {
        let not_said = webp_of(&[(b"VP8X", b"\0\0\0\0\x0f\0\0\x0f\0\0"), (chunk, &[0; 32])]);
        assert_eq!(decode(&not_said), Err(NotDecoded::Animated));
    }
}

#[test]
fn what_follows_a_photo_does_not_matter() {
    let photo = jpeg(&picture(), 90).expect("a photo");
    let decoded = decode(&photo);
    for tail in [
        &b"PK\x03\x04\x14\0\0\0"[..],
        b"<html><script>alert(1)</script></html>",
    ] {
        assert_eq!(decode(&[&photo, tail].concat()), decoded);
    }
}

#[test]
fn a_photo_is_turned_as_its_camera_was_held() {
    let upright = decode(&jpeg_with(1)).expect("decoded");
    assert_eq!((upright.width(), upright.height()), (48, 32));
    // Corner for each orientation: (right, bottom).
    let corners = [
        (0, 0),
        (1, 0),
        (1, 1),
        (0, 1),
        (0, 0),
        (1, 0),
        (1, 1),
        (0, 1),
    ];
    for (value, (right, bottom)) in (1..).zip(corners) {
        let luma = decode(&jpeg_with(value)).expect("decoded");
        let swapped = value >= 5;
        assert_eq!(
            (luma.width(), luma.height()),
            if swapped { (32, 48) } else { (48, 32) }
        );
        let (x, y) = (
            4 + right * (luma.width() - 9),
            4 + bottom * (luma.height() - 9),
        );
        assert!(luma.pixel(x, y) < 40, "value {value}");
    }
}

#[test]
fn a_png_and_a_webp_say_how_they_are_turned_too() {
    let pixels = stored(&[0, 10, 20, 30]);
    let header = png_header(3, 1, [8, 0, 0, 0, 0]);
    let turned = png_of(&[
        (b"IHDR", header),
        (b"eXIf", exif(6)),
        (b"IDAT", pixels),
        (b"IEND", vec![]),
    ]);
    assert_eq!(
        decode(&turned).expect("decoded"),
        Luma::new(1, 3, vec![10, 20, 30]).expect("an image")
    );

    let plain = webp(&picture()).expect("a photo");
    let lossless = &plain[20..];
    let length = u32::from_le_bytes(plain[16..20].try_into().expect("four bytes"));
    let lossless = &lossless[..usize::try_from(length).expect("short")];
    let canvas: &[u8] = b"\x08\0\0\0\x2f\0\0\x1f\0\0";
    let turned = webp_of(&[(b"VP8X", canvas), (b"VP8L", lossless), (b"EXIF", &exif(8))]);
    let upright = decode(&plain).expect("decoded").pixels().to_vec();
    let upright = GrayImage::from_raw(48, 32, upright).expect("an image");
    let expected = image::imageops::rotate270(&upright).into_raw();
    let expected = Luma::new(32, 48, expected).expect("an image");
    assert_eq!(decode(&turned).expect("decoded"), expected);
}

#[test]
fn sixteen_bits_and_palettes_are_decoded() {
    let sixteen = DynamicImage::from(picture()).to_luma16();
    assert!(is_close(
        &decode(&written(&sixteen.into(), ImageFormat::Png)).expect("decoded"),
        &picture()
    ));
    let palette = png_of(&[
        (b"IHDR", png_header(2, 1, [8, 3, 0, 0, 0])),
        (b"PLTE", vec![0, 0, 0, 255, 255, 255]),
        (b"IDAT", stored(&[0, 1, 0])),
        (b"IEND", vec![]),
    ]);
    assert_eq!(decode(&palette).expect("decoded").pixels(), [255, 0]);
}

#[test]
fn an_interlaced_png_is_put_in_order() {
    // Passes of a 2 x 2 image: first pixel, the one to its right, second row.
    let interlaced = png_of(&[
        (b"IHDR", png_header(2, 2, [8, 0, 0, 0, 1])),
        (b"IDAT", stored(&[0, 10, 0, 20, 0, 30, 40])),
        (b"IEND", vec![]),
    ]);
    assert_eq!(
        decode(&interlaced).expect("decoded").pixels(),
        [10, 20, 30, 40]
    );
}

#[test]
fn what_shines_through_is_white_paper() {
    let see_through = image::RgbaImage::from_fn(2, 1, |x, _| {
        image::Rgba([0, 0, 0, if x == 0 { 255 } else { 0 }])
    });
    for format in [ImageFormat::Png, ImageFormat::WebP] {
        let file = written(&see_through.clone().into(), format);
        assert_eq!(decode(&file).expect("decoded").pixels(), [0, 255]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_bytes_panic(
        start in prop::sample::select(vec![
            &b""[..], b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"RIFF\xff\0\0\0WEBPVP8 ", b"RIFF\xff\0\0\0WEBPVP8L",
            b"RIFF\xff\0\0\0WEBPVP8X",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..512),
    ) {
        let _ = decode(&[start, &rest].concat());
    }

    #[test]
    fn no_damage_panics(
        format in 0..3_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        let files = [jpeg(&picture(), 60), receipt_photo::png(&picture()), webp(&picture())];
        let mut file = files.into_iter().nth(format).expect("one of three").expect("a photo");
        for (place, byte) in changes {
            let place = place.index(file.len());
            file[place] = byte;
        }
        let _ = decode(&file);
        let _ = decode(&file[..end.index(file.len())]);
    }
}
