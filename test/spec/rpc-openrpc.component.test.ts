import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { unusableReasons } from '../../core/config/chain-config.js';
import { rpcRows } from '../../core/error-codes.js';
import { errorReasons } from '../../core/error-reasons.js';
import { conditionReasons, type ReasonText } from '../../core/meta/condition-reasons.js';
import { refusals } from '../../core/refusal.js';
import { repositoryRoot } from '../support/repository-root.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { priced, refused } from '../../core/pricing/price-source.js';
import { addressOf, someToken } from '../build/configs.js';
import { aPrice, aTokenChain, oldx, usdx } from '../build/fee-tokens.js';
import { anOperation, anOperationWithoutLimits, execute, sponsored } from '../build/operations.js';
import { type RpcAnswer } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

// The OpenRPC document is served, names every method, and is true: real params and answers are held against it.

type Described = {
  readonly name: string;
  readonly params: readonly { readonly schema: object; readonly required: boolean }[];
  readonly result: { readonly schema: object };
  readonly errors: readonly { readonly code: number; readonly data: object }[];
  readonly examples: readonly {
    readonly params: readonly { readonly value: unknown }[];
    readonly result: { readonly value: unknown };
  }[];
};

const host = useRpc({ chain: { ...aTokenChain(), dataFee: { kind: 'OpStack' } } });
type Reasons = { readonly enum: readonly string[]; readonly description: string };
let document: {
  readonly openrpc: string;
  readonly methods: readonly Described[];
  readonly components: { readonly schemas: Readonly<Record<'ErrorReason' | 'RefusalReason', Reasons>> };
};
beforeAll(async () => {
  host.world.price = ({ address }) =>
    address === oldx.address
      ? refused({ source: 'http', reason: 'UNREACHABLE', detail: 'did not answer' })
      : priced(aPrice());
  host.world.dataReading = { price: 0n, observedAt: host.clock.now() };
  host.world.estimate = () =>
    Promise.resolve({ callGasLimit: 90_000n, verificationGasLimit: 200_000n, preVerificationGas: 50_000n });
  document = JSON.parse(await (await fetch(`${host.origin}/openrpc.json`)).text());
});

const op = anOperation();
const refusedOp = anOperation({ callData: execute(addressOf(0xdead)) });
const v07 = (): Promise<void> => host.put({ version: 'singleton-0.7' });
const v06 = (): Promise<void> => host.put();
const open = (): Promise<void> =>
  host.put({ contractsRegistered: false, contracts: [], defaultContractAction: 'Allow' });
const withSponsor = (): Promise<void> =>
  host.put({ sponsor: { name: 'My Shop', icon: 'data:image/png;base64,iVBORw0KGgo=' } });
const feeToken = { tokenInfo: { feeTokenAddress: usdx.address } };

type Call = {
  readonly name: string;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly setUp?: () => Promise<void>;
};

const results: readonly Call[] = [
  { name: 'a sponsorship', method: 'pm_sponsorUserOperation', params: [op, sponsored] },
  {
    name: 'a sponsorship on 0.7',
    method: 'pm_sponsorUserOperation',
    params: [op, { mode: 'SPONSORSHIP' }],
    setUp: v07,
  },
  {
    name: 'fields of the operation',
    method: 'pm_sponsorUserOperation',
    params: [op, entryPoints['0.6'], {}],
  },
  {
    name: 'fields of the operation on 0.7',
    method: 'pm_sponsorUserOperation',
    params: [op, entryPoints['0.7'], {}],
    setUp: v07,
  },
  { name: 'a refusal', method: 'pm_sponsorUserOperation', params: [refusedOp, sponsored] },
  {
    name: 'limits estimated',
    method: 'pm_sponsorUserOperation',
    params: [anOperationWithoutLimits(), { mode: 'SPONSORED' }],
  },
  {
    name: 'a token payment',
    method: 'pm_sponsorUserOperation',
    params: [op, { mode: 'ERC20', ...feeToken }],
  },
  {
    name: 'a token payment on 0.7',
    method: 'pm_sponsorUserOperation',
    params: [op, { mode: 'ERC20', ...feeToken }],
    setUp: v07,
  },
  {
    name: 'a sponsorship by the quote method',
    method: 'pm_getFeeQuoteOrData',
    params: [op, { mode: 'SPONSORED', tokenInfo: {} }],
  },
  { name: 'all quotes', method: 'pm_getFeeQuoteOrData', params: [op, { mode: 'ERC20' }] },
  {
    name: 'quotes and unsupported tokens',
    method: 'pm_getFeeQuoteOrData',
    params: [op, { mode: 'ERC20', tokenInfo: { tokenList: [addressOf(1), usdx.address, oldx.address] } }],
  },
  { name: 'quotes without a mode', method: 'pm_getFeeQuoteOrData', params: [refusedOp, {}] },
  ...(['pm_getPaymasterStubData', 'pm_getPaymasterData'] as const).flatMap((method): readonly Call[] => [
    { name: 'no context', method, params: [op, entryPoints['0.6'], '0x7a69', null] },
    { name: 'on 0.7', method, params: [op, entryPoints['0.7'], '0x7a69', {}], setUp: v07 },
    { name: 'a token', method, params: [op, entryPoints['0.6'], '0x7a69', { token: usdx.address }] },
    {
      name: 'calculated limits',
      method,
      params: [op, entryPoints['0.6'], '0x7a69', { calculateGasLimits: true }],
    },
  ]),
  ...(['pm_getPaymasterStubData', 'pm_getPaymasterData'] as const).map((method): Call => ({
    name: 'with a sponsor',
    method,
    params: [op, entryPoints['0.6'], '0x7a69', {}],
    setUp: withSponsor,
  })),
  ...(['pm_sponsorUserOperation', 'pm_getPaymasterData'] as const).map((method): Call => ({
    name: 'a paymaster without a contract',
    method,
    params: method === 'pm_getPaymasterData' ? [op, entryPoints['0.6'], '0x7a69', null] : [op, sponsored],
    setUp: open,
  })),
  { name: 'the chain', method: 'pm_chainId', params: [] },
  { name: 'the EntryPoints', method: 'pm_supportedEntryPoints', params: [] },
  { name: 'tokens', method: 'pm_supportedERC20Tokens', params: [entryPoints['0.6']] },
  { name: 'tokens on 0.7', method: 'pm_supportedERC20Tokens', params: [entryPoints['0.7']], setUp: v07 },
  {
    name: 'tokens of a sponsor',
    method: 'pm_supportedERC20Tokens',
    params: [entryPoints['0.6']],
    setUp: withSponsor,
  },
  { name: 'an explanation', method: 'pm_explainSponsorship', params: [refusedOp, { mode: 'SPONSORED' }] },
  {
    name: 'an explanation of a payment in tokens',
    method: 'pm_explainSponsorship',
    params: [op, { mode: 'ERC20', ...feeToken }],
  },
  {
    name: 'an explanation of one in no token, and of tokens without a price',
    method: 'pm_explainSponsorship',
    params: [op, { mode: 'ERC20', tokenInfo: { tokenList: [addressOf(1), oldx.address] } }],
  },
];

describe('the OpenRPC document', () => {
  test('is OpenRPC 1.3 and names every method that is served', async () => {
    expect(document.openrpc).toMatch(/^1\.3\./);
    const { body } = await host.call('pm_unknown', []);
    for (const { name } of document.methods) expect(body.error?.message).toContain(name);
    expect(body.error?.message.match(/[a-z]+_[A-Za-z0-9]+/g)).toHaveLength(document.methods.length);
  });

  test('has an example of each method that is as its schemas say', () => {
    for (const { params, result, examples } of document.methods) {
      const [example] = examples;
      example?.params.forEach(({ value }, index) =>
        expect(problems(params[index]?.schema ?? {}, value)).toEqual([]),
      );
      const given = example?.params.length ?? 0;
      expect(given).toBeLessThanOrEqual(params.length);
      expect(given).toBeGreaterThanOrEqual(params.filter(({ required }) => required).length);
      expect(problems(result.schema, example?.result.value)).toEqual([]);
    }
  });

  test.each(results)('$method, $name: params and result are as described', async (call) => {
    await (call.setUp ?? v06)();
    const described = methodOf(call.method);
    call.params.forEach((value, index) =>
      expect(problems(described.params[index]?.schema ?? {}, value)).toEqual([]),
    );
    const { body } = await host.call(call.method, call.params, { headers: { authToken: someToken } });
    expect(body.error).toBeUndefined();
    expect(problems(described.result.schema, body.result)).toEqual([]);
  });

  test.each([
    ['pm_sponsorUserOperation', [op, { mode: 'ERC20' }]],
    ['pm_sponsorUserOperation', [op, { mode: 'ERC20', tokenInfo: { feeTokenAddress: addressOf(1) } }]],
    ['pm_sponsorUserOperation', [{}, { mode: 'SPONSORED' }]],
    ['pm_getFeeQuoteOrData', [anOperation({ maxFeePerGas: '0xffffffffffff' }), { mode: 'ERC20' }]],
    ['pm_getPaymasterStubData', [refusedOp, entryPoints['0.6'], '0x7a69', null]],
    ['pm_explainSponsorship', [op, { mode: 'SPONSORED' }]],
  ])('%s: an error has a code and data as described', async (method, params) => {
    await v06();
    const { body } = await host.call(method, params);
    const described = methodOf(method).errors.find(({ code }) => code === body.error?.code);
    expect(described).toBeDefined();
    expect(problems(described?.data ?? {}, body.error?.data)).toEqual([]);
  });

  test('every reason of the tables is listed, with what it means', () => {
    const { enum: listed, description } = document.components.schemas.ErrorReason;
    const no = (reasons: Readonly<Record<string, ReasonText>>) =>
      Object.entries(reasons).flatMap(([reason, { status }]) => (status === 'False' ? [reason] : []));
    const want = [
      ...Object.keys(refusals),
      ...Object.keys(errorReasons),
      ...rpcRows.keys(),
      ...unusableReasons,
      ...no(conditionReasons.Accepted),
      ...no(conditionReasons.ResolvedRefs),
      'TooLarge',
      'Deleted',
    ];
    expect(new Set(listed)).toEqual(new Set(want));
    expect(listed).toHaveLength(new Set(listed).size);
    expect(listed).toEqual(
      expect.arrayContaining([
        'AUTH_TOKEN_REQUIRED',
        'CHAIN_UNAVAILABLE',
        'USAGE_STORE_DOWN',
        'USAGE_STORE_LOST',
      ]),
    );
    for (const reason of listed) expect(description).toMatch(new RegExp(`^${reason}: .+`, 'm'));
    expect(new Set(document.components.schemas.RefusalReason.enum)).toEqual(new Set(Object.keys(refusals)));
  });

  test('the page of the client for viem points to them', () => {
    const page = readFileSync(join(repositoryRoot, 'clients/viem/README.md'), 'utf8');
    expect(page).toMatch(/`ErrorReason` in `\/openrpc\.json`/);
  });

  test('a member that is not described would be noticed', async () => {
    await v06();
    const answer: RpcAnswer = await host.call('pm_getFeeQuoteOrData', [op, { mode: 'ERC20' }]);
    const { schema } = methodOf('pm_getFeeQuoteOrData').result;
    expect(problems(schema, { ...answer.body.result, surprise: 1 })).not.toEqual([]);
  });
});

function methodOf(name: string): Described {
  const found = document.methods.find((method) => method.name === name);
  if (found === undefined) throw new Error(`${name} is not described`);
  return found;
}

/** Problems of a value against a schema of the document. */
function problems(schema: object, value: unknown): readonly unknown[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addSchema({ $id: 'document', ...document }, 'document');
  const rooted: object = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/'));
  const validate = ajv.compile(rooted);
  validate(value);
  return validate.errors ?? [];
}
