import { createSecureContext } from 'node:tls';
import { quote } from '../../../core/errors.js';
import { given } from '../../../core/units/given.js';
import { trimEnd } from '../../../core/units/trim-end.js';
import { basicAuth } from '../../http-exchange.js';
import { address, httpUrl } from '../../../core/meta/schema-parts.js';
import { object, text, type Infer } from '../../../core/schema/structural.js';
import { bytesToHex, type Hex, hexToBytes, isHexBytes } from '../../../core/units/hex.js';
import { parseAddress } from '../../../core/units/address.js';
import { parseJson } from '../../../core/schema/json-value.js';
import { CallFailed, failureOfStatus } from '../call-failed.js';
import { deriveAddress, recoverWith } from '../curve.js';
import { createHttp } from '../http.js';
import { describedKind } from '../kind.js';
import { createRemoteSigner, remoteLimits } from '../remote-signer.js';

const pem = (description: string) =>
  text(description, {
    maxLength: 8192,
    pattern: '^-----BEGIN ',
    expected: 'PEM: it begins with -----BEGIN',
    confidential: true,
  });

const schema = object('A service that speaks the protocol of web3signer.', {
  required: {
    url: httpUrl('Where it listens, e.g. http://127.0.0.1:9000.'),
    publicKey: text('The key of which a signature is asked: 0x and 128 hex digits (x and y).', {
      maxLength: 130,
      pattern: '^0x[0-9a-fA-F]{128}$',
      expected: 'a public key: 0x and 128 hex digits',
    }),
    address: address('The account of that key: what the contract accepts.'),
  },
  optional: {
    tls: object('For https.', {
      optional: {
        ca: pem('Certificates that are trusted instead of the public ones.'),
        certificate: pem('Our certificate, where it asks for one.'),
        privateKey: pem('The key of that certificate.'),
      },
    }),
  },
});

type Tls = NonNullable<Infer<typeof schema>['tls']>;

/** `POST /api/v1/eth1/sign/{publicKey}` `{data}`: it hashes `data` and answers 65 bytes as hex. Used by web3signer and whatever else speaks so. */
export const web3signer = describedKind({
  title: 'a service in your network that holds the key and speaks the protocol of web3signer',
  schema,
  problems: ({ url, publicKey, address: stated, tls }) => {
    const account = deriveAddress(hexToBytes(publicKey as Hex));
    return [
      ...(isPlain(url) ? [] : [{ field: 'url', expected: 'an origin and a path, without ? and #' }]),
      ...(account === parseAddress(stated)
        ? []
        : [{ field: 'address', expected: `${account}, the account of publicKey`, value: quote(stated) }]),
      ...(isUsable(tls)
        ? []
        : [{ field: 'tls', expected: 'PEM certificates, and the key of our certificate' }]),
    ];
  },
  open(spec, { curve, limits, meter }) {
    const http = createHttp(remoteLimits.calls, tlsContext(spec.tls));
    const url = `${trimEnd(spec.url, '/')}/api/v1/eth1/sign/${spec.publicKey.toLowerCase()}`;
    const authorization = basicAuth(new URL(url));
    const headers = { 'content-type': 'application/json', ...given({ authorization }) };
    const signer = createRemoteSigner({
      address: parseAddress(spec.address),
      implementation: 'web3signer',
      recover: recoverWith(curve),
      meter: meter(),
      ...given({ limits }),
      async ask({ preImage }, signal) {
        const { status, body } = await http.ask(
          { method: 'POST', url, headers, body: JSON.stringify({ data: bytesToHex(preImage) }) },
          signal,
        );
        if (status !== 200)
          throw new CallFailed(
            failureOfStatus(status),
            `web3signer answers HTTP ${status}${remedies[status] ?? ''}`,
          );
        return readAnswer(body);
      },
    });
    return { ...signer, stop: () => [signer, http].forEach((part) => part.stop?.()) };
  },
});

function isPlain(url: string): boolean {
  return URL.canParse(url) && !/[?#]/.test(url);
}

const tlsContext = ({ ca, certificate, privateKey }: Tls = {}) =>
  given({ ca, cert: certificate, key: privateKey });

function isUsable(tls: Tls | undefined): boolean {
  try {
    createSecureContext(tlsContext(tls));
    return true;
  } catch {
    return false;
  }
}

const remedies: Readonly<Record<number, string>> = { 404: ': it has no key with this publicKey' };

/** r‖s of `0x…`, as plain text or as a JSON string. */
function readAnswer(body: string): Uint8Array {
  const text = body.trim();
  const hex = text.startsWith('"') ? parseJson(text) : text;
  if (!isHexBytes(hex) || hex.length !== 132)
    throw new CallFailed('unclear', 'web3signer answers what is not a signature');
  return hexToBytes(hex).subarray(0, 64);
}
