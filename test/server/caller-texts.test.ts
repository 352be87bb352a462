import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatNodeMessage } from '../../adapters/chain/node-errors.js';
import { redactText } from '../../adapters/log/pino-logger.js';
import { parseManifest } from '../../adapters/manifests/parse-manifest.js';
import { parseFundingMessage } from '../../core/config/funding.js';
import { isRecordId } from '../../core/ledger/record-id.js';
import { checkWebhookUrl } from '../../core/policy/webhook/webhook-url.js';
import { parseNumberText } from '../../core/pricing/decimal.js';
import { parseDocument, parsePath } from '../../core/pricing/json-document.js';
import { canonicalSignature } from '../../core/resources/abi-signature.js';
import { parseAbi, readMethods } from '../../core/resources/abi.js';
import { isAddressText } from '../../core/units/address.js';
import { isSameNumber } from '../../core/units/decimal-text.js';
import { isHexBytes } from '../../core/units/hex.js';
import { parseInstant } from '../../core/units/time.js';
import { parseEther } from '../../core/units/wei.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import { collapseSlashes } from '../../server/dashboard/dashboard.js';
import { parseCursor } from '../../server/dashboard/ledger/range.js';
import * as parameters from '../../server/dashboard/parameters.js';
import { parseJson } from '../../server/http/json.js';
import { cleanRequestId, createRequestIds } from '../../server/http/request-id.js';
import { parseCall } from '../../server/rpc/envelope.js';
import { parseSponsorParams } from '../../server/rpc/params.js';
import { isRpcPath, parseRpcPath } from '../../server/rpc/path.js';
import { runs } from '../support/property.js';
import { growthOf, mostGrowth } from '../support/work.js';

/**
 * Every parser of texts that callers or tenants send, fed with texts that nobody thought of: a random piece, many times, after a
 * random beginning and before a random end. The work grows with the length of the text, and no faster.
 */

const pieces = Array.from('()[]{}<>,.:;"\'`#&*!|%@/\\?=~^$+-_ \n\t\r0159eExafzZ\u00e9\u2028');
pieces.push(
  '0x',
  '1e-3',
  '00',
  '\\u00',
  '//',
  '://',
  'a.b',
  '- ',
  ': ',
  '? ',
  'uint256',
  'tuple',
  '...',
  '%2f',
  'null',
  '\ud83d',
);
const text = fc.array(fc.constantFrom(...pieces), { maxLength: 5 }).map((parts) => parts.join(''));
const shape = fc.record({
  begin: fc.oneof(text, fc.constantFrom('', '[', '{"a":', 'https://a.example/', '0x', 'f(', 'eyJ', '1')),
  piece: fc.oneof(
    fc.constantFrom(...pieces),
    text.filter((each) => each !== ''),
  ),
  end: fc.oneof(text, fc.constantFrom('', '!', ']', '1')),
});

const { instant, integer, address, hash, uuid } = parameters;
const known = {
  from: instant(''),
  limit: integer('', 1, 1000),
  sender: address(''),
  userOpHash: hash(''),
  paymasterId: uuid(''),
  requestId: parameters.text('', 128),
};
const origin = { requestId: 'r', callerRequestId: undefined, method: 'pm_sponsorUserOperation' } as const;
const operation = { sender: `0x${'1'.repeat(40)}`, nonce: '0x0', callData: '0x' };
const ids = createRequestIds();

const parsers: Readonly<Record<string, (text: string) => unknown>> = {
  'a JSON body': parseJson,
  'a text in a JSON body': (given) => parseJson(JSON.stringify({ a: given })),
  'a name in a JSON body': (given) => parseJson(JSON.stringify({ [given]: 1e-300 })),
  'an ABI': (given) => readMethods(given, [given]),
  'an ABI with this type': (given) =>
    parseAbi(JSON.stringify([{ type: 'function', name: 'f', inputs: [{ type: given, name: given }] }])),
  'a signature of a method': canonicalSignature,
  'a number': (given) => [isSameNumber(given, '1'), parseNumberText(given)],
  'an amount of ether': parseEther,
  'fractions of ether': (given) => parseEther(`0.${given}`),
  'bytes and addresses in hex': (given) => [isHexBytes(given), isAddressText(given)],
  'a time': parseInstant,
  'the URL of a webhook': (given) => checkWebhookUrl(given),
  'the host of a webhook': (given) => checkWebhookUrl(`https://${given}`),
  'the path of a request': (given) => [isRpcPath(given), parseRpcPath(given), collapseSlashes(given)],
  'a path of JSON-RPC': (given) => parseRpcPath(`/api/v1/1/${given}`),
  'a query': (given) => parameters.readParameters(`?${given}`, known),
  'each parameter': (given) => Object.values(known).map(({ parse }) => parse(given)),
  'a cursor': (given) => parseCursor(given, {}, 1),
  'the content of a cursor': (given) => parseCursor(Buffer.from(given).toString('base64url'), {}, 1),
  'the id of a record': isRecordId,
  'the id of a request': (given) => [cleanRequestId(given), ids.next(given)],
  'a call of JSON-RPC': (given) => parseCall({ jsonrpc: given, id: given, method: given, params: given }),
  'an operation': (given) =>
    parseUserOperation(
      { ...operation, callData: given, signature: given, nonce: given, [given]: given },
      '0.7',
    ),
  'the mode of a request': (given) =>
    parseSponsorParams(
      [operation, { mode: given, sponsorshipInfo: { webhookData: { a: given } }, [given]: given }],
      { entryPointVersion: '0.7' },
      origin,
    ),
  'the document of a price': parseDocument,
  'the path in such a document': parsePath,
  'a funding message': parseFundingMessage,
  'YAML of a proposal': (given) => parseManifest('resources', given),
  'a line of the log': (given) => redactText(given, []),
  'the message of a node': formatNodeMessage,
};

describe('linear, whatever the text is, is the reading of', () => {
  test.each(Object.keys(parsers))('%s', (name) => {
    const parse = parsers[name] ?? (() => undefined);
    fc.assert(
      fc.property(shape, ({ begin, piece, end }) => {
        const measured = (): number =>
          growthOf((size) => {
            const given = begin + piece.repeat(Math.ceil(size / piece.length)) + end;
            return () => outcomeOf(parse, given);
          }, 8_000);
        // Quadratic work grows 4,096-fold, every time; what other load does to a measurement passes.
        const growth = [1, 2, 3].reduce(
          (least) => (least < mostGrowth ? least : Math.min(least, measured())),
          measured(),
        );
        expect(growth).toBeLessThan(mostGrowth);
      }),
      {
        ...(name.startsWith('YAML') ? runs(4, 20) : runs(10, 50)),
        endOnFailure: true,
      },
    );
  });
});

test('an amount of more digits than any amount has is refused unread', () => {
  expect(() => parseEther('1'.repeat(200_000))).toThrow('expected at most 128 characters, got 200000');
  expect(parseEther(`${2n ** 256n}.${'1'.repeat(18)}`)).toBe(
    2n ** 256n * 10n ** 18n + BigInt('1'.repeat(18)),
  );
});

test('a query that is longer than any in use is refused unread', () => {
  expect(() => parameters.readParameters(`?${'&.'.repeat(5_000)}`, known)).toThrow(
    'query must be at most 8192 characters',
  );
});

function outcomeOf(parse: (text: string) => unknown, given: string): unknown {
  try {
    return parse(given);
  } catch (error) {
    return error;
  }
}
