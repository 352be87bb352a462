import { bytesOf, call, isQuantity, post } from './service.mjs';

// Each check is a row: what is demanded, by whom, and how it is asked. `run` gets an entry point with the operation to ask about, and answers
// nothing where the service does it, else a sentence about what it does instead. `skip` answers why it does not apply.

const erc = 'ERC-7677';
const clients = 'its clients';
const limits = ['callGasLimit', 'verificationGasLimit', 'preVerificationGas'];

export const checks = [
  {
    name: 'the stub has the fields of the EntryPoint',
    by: erc,
    run: async (asked) => wrongFields(asked, await resultOf(asked, 'pm_getPaymasterStubData')),
  },
  {
    name: 'the stub is answered for an operation without gas limits',
    by: clients,
    run: async (asked) =>
      wrongFields(asked, await resultOf(asked, 'pm_getPaymasterStubData', without(asked.operation, limits))),
  },
  {
    name: 'the stub has a limit for postOp',
    by: clients,
    skip: ({ isFirst }) => isFirst && 'EntryPoint 0.6 has none',
    run: async (asked) => {
      const { paymasterPostOpGasLimit } = await resultOf(asked, 'pm_getPaymasterStubData');
      if (!isQuantity(paymasterPostOpGasLimit))
        return `paymasterPostOpGasLimit is ${shown(paymasterPostOpGasLimit)}`;
    },
  },
  {
    name: 'the data have the fields of the EntryPoint',
    by: erc,
    run: async (asked) => wrongFields(asked, await resultOf(asked, 'pm_getPaymasterData')),
  },
  {
    name: 'the stub is as long as the data',
    by: erc,
    run: async (asked) => {
      const [stub, data] = await both(asked);
      if (stub.length !== data.length) return `the stub has ${stub.length} bytes, the data ${data.length}`;
    },
  },
  {
    name: 'the stub has no more zero bytes than the data',
    by: erc,
    run: async (asked) => {
      // The bytes of a signature differ from one to the next: the least of three.
      const stub = zeros((await both(asked))[0]);
      const data = [];
      for (let round = 0; round < 3; round += 1) data.push(zeros((await both(asked))[1]));
      if (stub > Math.min(...data))
        return `the stub has ${stub} zero bytes, the data as few as ${Math.min(...data)}`;
    },
  },
  {
    name: 'limits of the request are kept, or all that were signed are answered',
    by: clients,
    run: async (asked) => {
      const result = await resultOf(asked, 'pm_getPaymasterData');
      const answered = limits.filter((name) => name in result);
      if (answered.length === 0) return;
      const wrong = limits.filter((name) => !isQuantity(result[name]));
      if (wrong.length > 0) return `${wrong.join(', ')} missing beside ${answered.join(', ')}`;
    },
  },
  {
    name: 'a sponsor has a name, and its icon is a data URI',
    by: erc,
    run: async (asked) => {
      const { sponsor } = await resultOf(asked, 'pm_getPaymasterData');
      if (sponsor === undefined || sponsor === null) return;
      if (typeof sponsor.name !== 'string') return `sponsor.name is ${shown(sponsor.name)}`;
      if (sponsor.icon !== undefined && !String(sponsor.icon).startsWith('data:'))
        return `sponsor.icon is ${shown(sponsor.icon)}`;
    },
  },
  {
    name: 'another chain is an error',
    by: erc,
    run: (asked) => mustFail({ ...asked, chainId: '0x7fffffff' }),
  },
  {
    name: 'an address that is no EntryPoint is an error',
    by: erc,
    run: (asked) => mustFail({ ...asked, entryPoint: `0x${'12'.repeat(20)}` }),
  },
  {
    name: 'an operation without a sender is an error',
    by: erc,
    run: (asked) => mustFail({ ...asked, operation: without(asked.operation, ['sender']) }),
  },
  {
    name: 'an unknown method is error -32601',
    by: 'JSON-RPC 2.0',
    run: async ({ url }) => {
      const { answer, text } = await call(url, 'pm_thereIsNoSuchMethod', []);
      if (answer?.error?.code !== -32601) return `answers ${shown(answer?.error ?? text)}`;
    },
  },
  {
    name: 'a body that is not JSON is error -32700',
    by: 'JSON-RPC 2.0',
    run: async ({ url }) => {
      const { answer, text } = await post(url, '{');
      if (answer?.error?.code !== -32700) return `answers ${shown(answer?.error ?? text)}`;
    },
  },
  {
    name: 'the id of the request is in the answer, with its type',
    by: 'JSON-RPC 2.0',
    run: async (asked) => {
      for (const id of [7, 'seven']) {
        const { answer } = await call(asked.url, 'pm_getPaymasterStubData', paramsOf(asked), id);
        if (answer?.id !== id) return `${shown(id)} comes back as ${shown(answer?.id)}`;
      }
    },
  },
  {
    name: 'a page may read the answer',
    by: 'wallets in browsers',
    run: async (asked) => {
      const { headers } = await call(asked.url, 'pm_getPaymasterStubData', paramsOf(asked));
      if (headers.get('access-control-allow-origin') === null) return 'no header access-control-allow-origin';
    },
  },
];

function paramsOf({ operation, entryPoint, chainId, context }) {
  return [operation, entryPoint, chainId, context];
}

/** Throws a sentence where the service answers no result. */
async function resultOf(asked, method, operation = asked.operation) {
  const { status, answer, text } = await call(asked.url, method, paramsOf({ ...asked, operation }));
  const { result, error } = answer ?? {};
  if (typeof result === 'object' && result !== null) return result;
  throw new Refused(`${method} answers HTTP ${status}, ${shown(error ?? answer ?? text)}`);
}

/** What a check cannot go on from. */
export class Refused extends Error {}

async function mustFail(asked) {
  for (const method of ['pm_getPaymasterStubData', 'pm_getPaymasterData']) {
    const { status, answer, text } = await call(asked.url, method, paramsOf(asked));
    if (answer?.result !== undefined) return `${method} answers a result`;
    if (typeof answer?.error?.code !== 'number' || typeof answer.error.message !== 'string')
      return `${method} answers HTTP ${status} without a JSON-RPC error: ${shown(text)}`;
  }
}

/** Stub and data in the form that is signed over. */
async function both(asked) {
  const stub = await resultOf(asked, 'pm_getPaymasterStubData');
  const data = await resultOf(asked, 'pm_getPaymasterData');
  return [stub, data].map((result) => {
    const bytes = bytesOf(asked.isFirst ? result.paymasterAndData : result.paymasterData);
    if (bytes === undefined) throw new Refused(wrongFields(asked, result) ?? 'no data');
    return bytes;
  });
}

function wrongFields({ isFirst }, result) {
  const data = isFirst ? result.paymasterAndData : result.paymasterData;
  const name = isFirst ? 'paymasterAndData' : 'paymasterData';
  const bytes = bytesOf(data);
  if (bytes === undefined) return `${name} is ${shown(data)}`;
  if (isFirst) return bytes.length < 20 ? `paymasterAndData has ${bytes.length} bytes` : undefined;
  if (bytesOf(result.paymaster)?.length !== 20) return `paymaster is ${shown(result.paymaster)}`;
}

function zeros(bytes) {
  return bytes.filter((byte) => byte === 0).length;
}

function without(operation, names) {
  return Object.fromEntries(Object.entries(operation).filter(([name]) => !names.includes(name)));
}

/** Text of somebody else, for a terminal: short, and without what a terminal obeys. */
function shown(value) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'missing');
  return text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 200);
}
