import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';

export type Certificate = { readonly key: string; readonly cert: string };

/**
 * A self-signed certificate for one host name, made on the spot: the smallest X.509 that OpenSSL accepts (version 3,
 * ECDSA P-256 with SHA-256, subjectAltName, CA so that it can be its own trust anchor).
 */
export function createCertificate(host: string): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const body = certificateBody(host, publicKey);
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, sequence(ecdsaWithSha256), bitString(signature));
  const base64 = certificate.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
  };
}

function certificateBody(host: string, publicKey: KeyObject): Buffer {
  const name = sequence(tag(0x31, sequence(commonName, tag(0x0c, Buffer.from(host)))));
  const validity = sequence(tag(0x17, Buffer.from('200101000000Z')), tag(0x17, Buffer.from('491231235959Z')));
  const alternativeName = tag(0x04, sequence(tag(0x82, Buffer.from(host))));
  const isAuthority = tag(0x04, sequence(tag(0x01, Buffer.from([0xff]))));
  return sequence(
    tag(0xa0, tag(0x02, Buffer.from([2]))),
    tag(0x02, Buffer.from([1])),
    sequence(ecdsaWithSha256),
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tag(0xa3, sequence(sequence(subjectAltName, alternativeName), sequence(basicConstraints, isAuthority))),
  );
}

const ecdsaWithSha256 = objectId([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]);
const commonName = objectId([0x55, 0x04, 0x03]);
const subjectAltName = objectId([0x55, 0x1d, 0x11]);
const basicConstraints = objectId([0x55, 0x1d, 0x13]);

function objectId(bytes: readonly number[]): Buffer {
  return tag(0x06, Buffer.from(bytes));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tag(0x30, ...parts);
}

function bitString(bytes: Buffer): Buffer {
  return tag(0x03, Buffer.from([0]), bytes);
}

/** DER: tag, length (short form below 128, else the number of length bytes first), content. */
function tag(id: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([id, ...length]), content]);
}
