use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use s3s::crypto::{Checksum, Crc32, Sha256};
use s3s::dto::PutObjectInput;
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result, s3_error};

type Sum = fn(&[u8]) -> String;

pub(super) async fn read(
    request: &mut S3Request<PutObjectInput>,
    max_bytes: usize,
) -> S3Result<Bytes> {
    let declared = request
        .input
        .content_length
        .ok_or_else(|| s3_error!(MissingContentLength))?;
    let mut bytes = BytesMut::new();
    let mut read: usize = 0;
    if let Some(mut body) = request.input.body.take() {
        while let Some(chunk) = body.next().await {
            let chunk =
                chunk.map_err(|error| S3Error::with_source(S3ErrorCode::IncompleteBody, error))?;
            read = read.saturating_add(chunk.len());
            // Discarded, so that the caller gets the refusal.
            if read <= max_bytes {
                bytes.extend_from_slice(&chunk);
            }
        }
    }
    if read > max_bytes {
        return Err(s3_error!(
            EntityTooLarge,
            "Your proposed upload exceeds the maximum allowed size"
        ));
    }
    if usize::try_from(declared) != Ok(read) {
        return Err(s3_error!(IncompleteBody));
    }
    let bytes = bytes.freeze();
    check(request, &bytes)?;
    Ok(bytes)
}

fn check(request: &S3Request<PutObjectInput>, bytes: &[u8]) -> S3Result<()> {
    let trailers = request
        .trailing_headers
        .as_ref()
        .and_then(|trailers| trailers.take())
        .unwrap_or_default();
    let input = &request.input;
    let sums: [(&str, &Option<String>, Sum); 2] = [
        ("x-amz-checksum-crc32", &input.checksum_crc32, sum::<Crc32>),
        (
            "x-amz-checksum-sha256",
            &input.checksum_sha256,
            sum::<Sha256>,
        ),
    ];
    for (name, in_header, sum) in sums {
        let in_trailer = trailers.get(name).map(|value| value.as_bytes());
        let in_header = in_header.as_ref().map(|value| value.as_bytes());
        let expected = in_header.or(in_trailer);
        if expected.is_some_and(|expected| expected != sum(bytes).as_bytes()) {
            return Err(s3_error!(
                BadDigest,
                "The {name} you specified did not match what we received"
            ));
        }
    }
    Ok(())
}

fn sum<C: Checksum>(bytes: &[u8]) -> String {
    STANDARD.encode(C::checksum(bytes))
}
