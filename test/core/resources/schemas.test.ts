import { describe, expect, test } from '@jest/globals';
import { formatProblem } from '../../../core/errors.js';
import type { Kind } from '../../../core/resources/kinds.js';
import { compiledDefinitions } from '../../../core/config/compiled.schema.js';
import { definitions } from '../../../core/resources/schemas.js';
import { validateResource, validateStatus } from '../../../core/resources/validate.js';
import type { KindDefinition } from '../../../core/schema/crd.js';
import type { StructuralSchema } from '../../../core/schema/structural.js';
import { compileSchema } from '../../../core/schema/validate.js';
import { hasWrongChecksum } from '../../../core/units/address.js';
import { staleFiles } from '../../../operator/generate.js';
import { join } from 'node:path';
import {
  aChain,
  aFeeToken,
  aLimit,
  anOrganisation,
  aPaymaster,
  aPolicy,
  aSmartContract,
} from '../../build/resources.js';
import { repositoryRoot } from '../../support/repository-root.js';

const all: readonly KindDefinition[] = [...Object.values(definitions), ...Object.values(compiledDefinitions)];

describe('every schema', () => {
  const nodes = all.flatMap((definition) => [
    ...nodesOf(definition.spec, `${definition.kind} spec`),
    ...(definition.status ? nodesOf(definition.status, `${definition.kind} status`) : []),
  ]);
  const namesOf = (isWrong: (schema: StructuralSchema) => boolean) =>
    nodes.filter(({ schema }) => isWrong(schema)).map(({ name }) => name);

  test('describes every field in a sentence', () => {
    expect(nodes.length).toBeGreaterThan(100);
    expect(
      namesOf(({ description }) => !/^\S.*\.$/s.test(description) && !/e\.g\./.test(description)),
    ).toEqual([]);
  });

  test('gives an example of every field that people fill in, or a default or a figure that says enough', () => {
    const written = Object.values(definitions).flatMap(({ kind, spec }) => nodesOf(spec, `${kind} spec`));
    const isFilledIn = ({ type, enum: choices }: StructuralSchema) =>
      ['string', 'integer', 'number'].includes(String(type ?? '')) && choices === undefined;
    const bare = written.filter(
      ({ schema }) => isFilledIn(schema) && !/[eE]\.g\. |Default|[0-9]{2}/.test(schema.description ?? ''),
    );
    // The service shows the message, and a wallet signs it: nobody writes one.
    expect(bare.map(({ name }) => name)).toEqual(['Paymaster spec.funding.message']);
  });

  test('shows addresses in their EIP-55 form', () => {
    const shown = all
      .flatMap(({ spec }) => nodesOf(spec, ''))
      .flatMap(({ schema }) => schema.description?.match(/0x[0-9a-fA-F]{40}/g) ?? []);
    expect(shown.length).toBeGreaterThan(10);
    expect(shown.filter(hasWrongChecksum)).toEqual([]);
  });

  test('bounds every text, list and number, which is what the API server prices rules by', () => {
    expect(namesOf(({ type, maxLength }) => type === 'string' && maxLength === undefined)).toEqual([]);
    expect(namesOf(({ type, maxItems }) => type === 'array' && maxItems === undefined)).toEqual([]);
    expect(
      namesOf(
        ({ type, minimum, maximum }) =>
          (type === 'integer' || type === 'number') && (minimum === undefined || maximum === undefined),
      ),
    ).toEqual([]);
  });

  test('states for every list how it is merged, and types every object', () => {
    expect(namesOf((schema) => schema.type === 'array' && !schema['x-kubernetes-list-type'])).toEqual([]);
    expect(
      namesOf(
        ({ type, properties, maxProperties }) => type === 'object' && !properties && maxProperties !== 0,
      ),
    ).toEqual([]);
  });

  test('is judged in time that grows no faster than a hostile input', () => {
    const long = 40_000;
    const hostile = [
      ' '.repeat(long),
      'a'.repeat(long),
      `${'a-'.repeat(long / 2)}!`,
      `${'a.'.repeat(long / 2)}!`,
      '1'.repeat(long),
    ];
    const texts = nodes.filter(({ schema }) => schema.pattern !== undefined);
    expect(texts.length).toBeGreaterThan(20);
    const began = process.cpuUsage();
    for (const { schema } of texts) {
      const validate = compileSchema(schema, 'field');
      for (const text of hostile) validate(text);
    }
    // Processor time, which other work on the machine does not add to: milliseconds as it should be, minutes for a
    // pattern that backtracks.
    expect(process.cpuUsage(began).user / 1000).toBeLessThan(20_000);
  });

  test('keeps secrets out of messages', () => {
    const secret = 'f'.repeat(63);
    const problems = [
      ...validateResource('Organisation', anOrganisation({ tokens: [{ name: 'ci', sha256: secret }] })),
      ...validateResource(
        'Paymaster',
        aPaymaster({ funding: { address: `0x${'1'.repeat(40)}`, message: 'm', signature: secret } }),
      ),
      ...validateResource('Chain', aChain({ rpc: { urls: [`ws://node.example/${secret}`] } })),
    ];
    expect(problems).toHaveLength(3);
    expect(problems.map(formatProblem).join()).not.toContain(secret);
  });
});

test('the generated definitions are current', async () => {
  expect(await staleFiles(join(repositoryRoot, 'crds'))).toEqual([]);
});

test.each([aChain(), aFeeToken(), anOrganisation(), aPaymaster(), aSmartContract(), aPolicy()])(
  'a plain $kind is valid',
  (object) => {
    expect(validateResource(object.kind, object)).toEqual([]);
  },
);

test('the widest caps that make sense are valid', () => {
  const gas = {
    maxFeePerGas: '1000000000000000',
    maxPriorityFeePerGas: '0',
    maxPreVerificationGas: 30_000_000,
  };
  expect(validateResource('Paymaster', aPaymaster({ gas, maxExpirySeconds: 86_400 }))).toEqual([]);
  const rateLimit = { perKey: { requests: 100, perSeconds: 1 } };
  expect(validateResource('Chain', aChain({ gas, maxExpirySeconds: 86_400, rateLimit }))).toEqual([]);
});

type Wrong = {
  readonly name: string;
  readonly kind: Kind;
  readonly spec: object;
  readonly want: readonly string[];
};

const policy = aPolicy().spec;
const limit = (overrides: object) => ({ ...policy, spendingLimit: { ...aLimit, ...overrides } });

describe('a problem names field, expectation and value', () => {
  test.each<Wrong>([
    {
      name: 'one of several words',
      kind: 'PaymasterPolicy',
      spec: limit({ cycleDuration: { value: 1, unit: 'week' } }),
      want: ['spec.spendingLimit.cycleDuration.unit must be "hour" or "day", got "week"'],
    },
    {
      name: 'a number out of bounds',
      kind: 'PaymasterPolicy',
      spec: limit({ cycleDuration: { value: 0, unit: 'hour' } }),
      want: ['spec.spendingLimit.cycleDuration.value must be a whole number from 1 to 8760, got 0'],
    },
    {
      name: 'a fee per gas beyond what any chain asks',
      kind: 'Paymaster',
      spec: { ...aPaymaster().spec, gas: { maxFeePerGas: '1000000000000001' } },
      want: [
        'spec.gas.maxFeePerGas must be an amount of wei as digits in quotes, e.g. "50000000000", at most 10^15, got "1000000000000001"',
      ],
    },
    {
      name: 'an icon that wallets would have to fetch',
      kind: 'Paymaster',
      spec: { ...aPaymaster().spec, sponsor: { name: 'Shop', icon: 'https://example.com/a.png' } },
      want: [
        'spec.sponsor.icon must be a data URI of a PNG, WebP or SVG image in base64: data:image/png;base64,…, got "https://example.com/a.png"',
      ],
    },
    {
      name: 'an icon that is not an image',
      kind: 'Paymaster',
      spec: { ...aPaymaster().spec, sponsor: { name: 'Shop', icon: 'data:text/html;base64,PGI+' } },
      want: [
        'spec.sponsor.icon must be a data URI of a PNG, WebP or SVG image in base64: data:image/png;base64,…, got "data:text/html;base64,PGI+"',
      ],
    },
    ...[
      'javascript:alert(1)//',
      'data:text/html,x',
      'https://user:secret@example.com',
      'https://good.example@evil.example',
      'https://example.com/?q=',
      'https://example.com/#',
      'https://example.com/a b',
      'https://example.com\\evil',
      '//example.com/',
      'http://example.com',
      'http://localhost.evil.example',
    ].map((explorer) => ({
      name: `the explorer ${explorer}`,
      kind: 'Chain' as const,
      spec: { ...aChain().spec, explorer },
      want: [
        `spec.explorer must be an https:// URL without user, query and fragment, at most 256 characters; http:// only for localhost, got ${JSON.stringify(explorer)}`,
      ],
    })),
    {
      name: 'a gas limit beyond what any block holds',
      kind: 'Chain',
      spec: { ...aChain().spec, gas: { maxCallGasLimit: 1_000_000_001 } },
      want: ['spec.gas.maxCallGasLimit must be a whole number from 0 to 1000000000, got 1000000001'],
    },
    {
      name: 'a word that is not the one word for a number',
      kind: 'Chain',
      spec: { ...aChain().spec, confirmations: 'safe' },
      want: ['spec.confirmations must be a whole number from 0 to 10000 or "finalized", got "safe"'],
    },
    {
      name: 'a number beside that word out of bounds',
      kind: 'Chain',
      spec: { ...aChain().spec, confirmations: 10_001 },
      want: ['spec.confirmations must be a whole number from 0 to 10000 or "finalized", got 10001'],
    },
    {
      name: 'a fraction where a whole number or a word is expected',
      kind: 'Chain',
      spec: { ...aChain().spec, confirmations: 1.5 },
      want: ['spec.confirmations must be a whole number from 0 to 10000 or "finalized", got 1.5'],
    },
    {
      name: 'a number where text is expected, told once',
      kind: 'PaymasterPolicy',
      spec: limit({ threshold: 0.5 }),
      want: [
        'spec.spendingLimit.threshold must be decimal text in quotes such as "0.05": not negative, at most 15 digits before and 18 after the point, got 0.5',
      ],
    },
    {
      name: 'a negative threshold',
      kind: 'PaymasterPolicy',
      spec: limit({ threshold: '-1' }),
      want: [
        'spec.spendingLimit.threshold must be decimal text in quotes such as "0.05": not negative, at most 15 digits before and 18 after the point, got "-1"',
      ],
    },
    {
      name: 'an unknown field',
      kind: 'Paymaster',
      spec: { ...aPaymaster().spec, funding: { adress: '0x' } },
      want: [
        'spec.funding.address must be set: an address: 0x and 40 hex digits',
        'spec.funding.adress must be left out: the field does not exist; the fields here are address, message, signature',
      ],
    },
    {
      name: 'a field of a list item',
      kind: 'Organisation',
      spec: { namespace: 'acme', tokens: [{ name: 'ci', sha256: 'a'.repeat(64) }, { name: '' }] },
      want: [
        'spec.tokens[1].name must be a name of 1 to 128 characters, not blank and without control characters, got ""',
        'spec.tokens[1].sha256 must be set: the SHA-256 of the token: 64 lowercase hex digits',
      ],
    },
    {
      name: 'a null',
      kind: 'Paymaster',
      spec: { ...aPaymaster().spec, suspended: null },
      want: ['spec.suspended must be true or false, got null'],
    },
    {
      name: 'an ABI that is too long, shortened in the message',
      kind: 'SmartContract',
      spec: { ...aSmartContract().spec, abi: 'x'.repeat(196_609) },
      want: [`spec.abi must be the ABI as JSON text of 2 to 196608 characters, got "${'x'.repeat(76)}...`],
    },
    {
      name: 'shape and rules together, each rule where its own shape is right',
      kind: 'PaymasterPolicy',
      spec: { ...limit({ cycleDuration: { value: 400, unit: 'day' }, thresholdType: 'ETH' }), name: 7 },
      want: [
        'spec.name must be a name of 1 to 128 characters, not blank and without control characters, got 7',
        'spec.spendingLimit.thresholdType must be "COUNT", "NATIVE_ASSET" or "USD", got "ETH"',
        'spec.spendingLimit.cycleDuration.value must be at most one year: 365 days or 8760 hours',
      ],
    },
  ])('$name', ({ kind, spec, want }) => {
    const metadata = definitions[kind].scope === 'Cluster' ? { name: 'a' } : { name: 'a', namespace: 'acme' };
    const problems = validateResource(kind, { metadata, spec }).map(formatProblem);
    expect(problems.toSorted()).toEqual([...want].toSorted());
  });
});

describe('decimal thresholds', () => {
  const accepted = (threshold: string, thresholdType: string) =>
    validateResource('PaymasterPolicy', {
      metadata: { name: 'a', namespace: 'acme' },
      spec: limit({ threshold, thresholdType }),
    }).length === 0;

  test.each(['0', '1', '999999999999999', '0.000000000000000001', '1.50'])('%s ether is one', (text) => {
    expect(accepted(text, 'NATIVE_ASSET')).toBe(true);
  });
  test.each([
    '',
    '.5',
    '5.',
    '01',
    '1e3',
    '+1',
    '0x1',
    ' 1',
    '1,5',
    '0.0000000000000000001',
    '1000000000000000',
  ])('"%s" is not valid', (text) => {
    expect(accepted(text, 'NATIVE_ASSET')).toBe(false);
  });
  test('a count has no decimals, not even zeros', () => {
    expect([accepted('10', 'COUNT'), accepted('0', 'COUNT'), accepted('10.0', 'COUNT')]).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe('names', () => {
  const nameProblems = (kind: Kind, metadata: { name: string; namespace?: string }) =>
    validateResource(kind, {
      metadata,
      spec: kind === 'Paymaster' ? aPaymaster().spec : anOrganisation().spec,
    }).map(({ field }) => field);

  test.each([
    {
      name: 'a namespaced kind needs a namespace',
      kind: 'Paymaster',
      metadata: { name: 'a' },
      want: ['metadata.namespace'],
    },
    {
      name: 'a cluster kind has none',
      kind: 'Organisation',
      metadata: { name: 'a', namespace: 'acme' },
      want: ['metadata.namespace'],
    },
    {
      name: 'upper case and underscores are refused',
      kind: 'Paymaster',
      metadata: { name: 'My_Shop', namespace: 'Acme' },
      want: ['metadata.name', 'metadata.namespace'],
    },
    {
      name: 'dots are fine in names',
      kind: 'Paymaster',
      metadata: { name: 'a.b-c.d', namespace: 'acme' },
      want: [],
    },
  ] as const)('$name', ({ kind, metadata, want }) => {
    expect(nameProblems(kind, metadata)).toEqual(want);
  });
});

test('a status is judged by its schema too', () => {
  expect(validateStatus('Paymaster', { contracts: 1 })).toEqual([]);
  expect(validateStatus('Paymaster', { contract: 1 }).map(({ field }) => field)).toEqual(['status.contract']);
});

function nodesOf(schema: StructuralSchema, name: string): { name: string; schema: StructuralSchema }[] {
  return [
    { name, schema },
    ...Object.entries(schema.properties ?? {}).flatMap(([key, child]) => nodesOf(child, `${name}.${key}`)),
    ...(schema.items ? nodesOf(schema.items, `${name}[]`) : []),
  ];
}
