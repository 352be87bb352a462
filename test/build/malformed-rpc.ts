import { someApiKey } from './configs.js';
import { anOperation, sponsored } from './operations.js';

/** One malformed request and the error that documents it. */
export type Malformed = {
  readonly name: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
  readonly code: number;
  /** Text that the message must hold: the field at fault. */
  readonly says?: string;
};

const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

/** Bodies that are not a JSON-RPC request. */
function bodies(): readonly Malformed[] {
  const noJson: readonly string[] = [
    '',
    ' ',
    '{',
    '}',
    '[',
    '{"jsonrpc":"2.0"',
    '{jsonrpc:2.0}',
    "{'jsonrpc':'2.0'}",
    '{"jsonrpc":"2.0",}',
    'null,',
    'undefined',
    'NaN',
    'Infinity',
    '0x10',
    '01',
    '+1',
    '1e',
    '"unterminated',
    '"\u0001"',
    '"\\x41"',
    '"\\u12"',
    '\uFEFF{}',
    '// comment\n{}',
    '{"a":1}{"b":2}',
    '<xml/>',
    'method=pm_sponsorUserOperation',
    '--boundary\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    '['.repeat(100_000),
    `{"a":${'{"a":'.repeat(50_000)}`,
  ];
  const noRequest: readonly string[] = [
    'null',
    'true',
    '7',
    '-0',
    '1e999',
    '"text"',
    '""',
    '{}',
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","id":1}',
    '{"jsonrpc":"2.0","method":"pm_sponsorUserOperation","params":[]}',
    '{"id":1,"method":"pm_sponsorUserOperation","params":[]}',
    '{"jsonrpc":"3.0","id":1,"method":"pm_sponsorUserOperation","params":[]}',
    '{"jsonrpc":["2.0"],"id":1,"method":"pm_sponsorUserOperation","params":[]}',
    '{"jsonrpc":"2.0","id":[1],"method":"pm_sponsorUserOperation","params":[]}',
    '{"jsonrpc":"2.0","id":{},"method":"pm_sponsorUserOperation","params":[]}',
    '{"jsonrpc":"2.0","id":null,"method":"pm_sponsorUserOperation","params":[]}',
    '{"jsonrpc":"2.0","id":1e400,"method":"pm_sponsorUserOperation","params":[]}',
    '{"jsonrpc":"2.0","id":12345678901234567890,"method":"pm_sponsorUserOperation","params":[]}',
    '{"jsonrpc":"2.0","id":1,"method":["pm_sponsorUserOperation"],"params":[]}',
    '{"jsonrpc":"2.0","id":1,"params":[]}',
    '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"pm_sponsorUserOperation","params":[]}}',
    '[]',
    deep(1),
  ];
  const noMethod: readonly string[] = [
    '',
    ' ',
    'pm_sponsoruseroperation',
    'PM_SPONSORUSEROPERATION',
    'pm_sponsorUserOperation ',
    'eth_call',
    'rpc.unknown',
    '__proto__',
    'constructor',
    'toString',
    'valueOf',
    'x'.repeat(100_000),
    '\u0000',
    '../../etc/passwd',
  ];
  return [
    ...noJson.map((body) => ({ name: `no JSON: ${shorten(body)}`, body, code: -32700 })),
    { name: 'no JSON: bytes', body: Uint8Array.from([0xff, 0xfe, 0x00, 0x80]), code: -32700 },
    { name: 'no JSON: gzip', body: Uint8Array.from([0x1f, 0x8b, 8, 0, 0]), code: -32700 },
    ...noRequest.map((body) => ({ name: `no request: ${shorten(body)}`, body, code: -32600 })),
    ...noMethod.map((method) => ({
      name: `no method: ${shorten(method)}`,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] }),
      code: -32601,
    })),
    // As if there were none.
    ...['{}', 'null'].map((params) => ({
      name: `params ${params}`,
      body: `{"jsonrpc":"2.0","id":1,"method":"pm_sponsorUserOperation","params":${params}}`,
      code: -32602,
      says: 'params[0] must be',
    })),
    ...['{"a":1}', '1', '"x"', 'true'].map((params) => ({
      name: `params ${params}`,
      body: `{"jsonrpc":"2.0","id":1,"method":"pm_sponsorUserOperation","params":${params}}`,
      code: -32602,
      says: 'params must be an array',
    })),
  ];
}

/** Operations and mode objects with one wrong field each. */
function params(): readonly Malformed[] {
  const wrongQuantity: readonly string[] = [
    '-1',
    '1.5',
    '9007199254740993',
    '1e21',
    '"-1"',
    '"1.5"',
    '"0x"',
    '"0xg"',
    '"x10"',
    '"1e3"',
    '" 1"',
    '"１"',
    '[]',
    '[1]',
    '{}',
    'true',
    'null',
    `"0x1${'0'.repeat(64)}"`,
    `"${'9'.repeat(79)}"`,
    `"0x${'f'.repeat(100_000)}"`,
    deep(20_000),
  ];
  const required = ['nonce', 'maxFeePerGas', 'maxPriorityFeePerGas'];
  const optional = ['callGasLimit', 'verificationGasLimit', 'preVerificationGas'];
  const missing = new Set(['"0x"', 'null']);
  const quantities = [...required, ...optional].flatMap((field) =>
    wrongQuantity
      .filter((text) => required.includes(field) || !missing.has(text))
      .map((text) => operation(field, text)),
  );
  const wrongAddress = [
    '"0x12"',
    '"0x"',
    `"${'12'.repeat(20)}"`,
    `"0x${'1g'.repeat(20)}"`,
    '7',
    '[]',
    '{}',
    'null',
    'true',
  ];
  const wrongBytes = ['"0x1"', '"12"', '"0xgg"', '"hello"', '7', '[]', '{}', 'true', deep(20_000)];
  const wrongMode: readonly (readonly [string, string])[] = [
    ['mode', '"FREE"'],
    ['mode', '"__proto__"'],
    ['mode', '7'],
    ['mode', '[]'],
    ['mode', '["SPONSORED"]'],
    ['mode', 'null'],
    ['mode', '""'],
    ['mode', deep(20_000)],
    ['calculateGasLimits', '"true"'],
    ['calculateGasLimits', '1'],
    ['calculateGasLimits', '{}'],
    ['expiryDuration', '0'],
    ['expiryDuration', '-300'],
    ['expiryDuration', '0.5'],
    ['expiryDuration', '86401'],
    ['expiryDuration', '1e300'],
    ['expiryDuration', '"0x12c"'],
    ['expiryDuration', '"forever"'],
    ['expiryDuration', '[]'],
    ['expiryDuration', 'true'],
    ['sponsorshipInfo', '"x"'],
    ['sponsorshipInfo', '7'],
    ['sponsorshipInfo', '[]'],
    ['sponsorshipInfo', '{"webhookData":"x"}'],
    ['sponsorshipInfo', '{"webhookData":[1]}'],
    ['sponsorshipInfo', '{"webhookData":7}'],
    ['sponsorshipInfo', `{"webhookData":{"deep":${deep(20_000)}}}`],
  ];
  return [
    ...quantities,
    ...wrongAddress.map((text) => operation('sender', text)),
    ...wrongBytes.map((text) => operation('callData', text)),
    ...wrongBytes.map((text) => operation('initCode', text)),
    ...wrongBytes.map((text) => ({ ...operation('signature', text) })),
    operation('initCode', '"0x1234"'),
    operation('callData', `"0x${'00'.repeat(131_073)}"`),
    operation('factoryData', '"0x1234"', 'factory'),
    operation('accountGasLimits', '"0x12"'),
    operation('gasFees', `"0x${'00'.repeat(32)}"`, 'maxFeePerGas'),
    operation('eip7702Auth', '"x"'),
    operation('eip7702Auth', '{"yParity":7}', 'eip7702Auth'),
    ...wrongMode.map(([field, text]) => mode(field, text)),
    ...['7', '"x"', 'null', '[]', 'true', deep(20_000)].map((text) => ({
      name: `operation ${shorten(text)}`,
      body: call(`[${text},${JSON.stringify(sponsored)}]`),
      code: -32602,
      says: 'params[0]',
    })),
    ...['7', 'null', '[]', 'true'].map((text) => ({
      name: `mode object ${text}`,
      body: call(`[${JSON.stringify(anOperation())},${text}]`),
      code: -32602,
      says: 'params[1]',
    })),
    { name: 'no params at all', body: call('[]'), code: -32602, says: 'params[0]' },
    {
      name: 'no mode object',
      body: call(`[${JSON.stringify(anOperation())}]`),
      code: -32602,
      says: 'params[1]',
    },
  ];
}

/** Valid bodies with wrong addresses and headers. */
function addresses(): readonly Malformed[] {
  const body = call(`[${JSON.stringify(anOperation())},${JSON.stringify(sponsored)}]`);
  const wrongPaths = [
    '/api/v1/',
    '/api/v1/x',
    '/api/v1/-1/key',
    '/api/v1/0x7a69/key',
    '/api/v1/1.5/key',
    `/api/v1/${'9'.repeat(30)}/key`,
    `/api/v1/31337/${someApiKey}/more`,
    '/api/v1/31337/%',
    '/api/v1/31337/%ff%fe',
  ];
  const wrongKeys = [
    'x',
    'null',
    '__proto__',
    'a'.repeat(4000),
    '%00',
    '%0d%0aX-Injected:%201',
    '..%2f..',
    someApiKey.toLowerCase(),
    `${someApiKey}.`,
    someApiKey.slice(1),
  ];
  return [
    ...wrongPaths.map((path) => ({ name: `address ${shorten(path)}`, body, path, code: -32600 })),
    ...wrongKeys.map((key) => ({
      name: `key ${shorten(key)}`,
      body,
      path: `/api/v1/31337/${key}`,
      status: 401,
      code: -32001,
    })),
    { name: 'no key', body, path: '/api/v1/31337', status: 401, code: -32001 },
    {
      name: 'an empty key header',
      body,
      path: '/api/v1/31337',
      headers: { apiKey: '' },
      status: 401,
      code: -32001,
    },
    { name: 'another chain', body, path: `/api/v1/1/${someApiKey}`, code: -32602, says: 'chain' },
    { name: 'chain 0', body, path: `/api/v1/0/${someApiKey}`, code: -32602, says: 'chain' },
    { name: 'too long', body: ' '.repeat(1_048_577), status: 413, code: -32600 },
  ];
}

export const malformedRequests: readonly Malformed[] = [...bodies(), ...params(), ...addresses()];

function operation(field: string, text: string, says = field): Malformed {
  const json = JSON.stringify({ ...anOperation(), [field]: 'HERE' }).replace('"HERE"', () => text);
  return {
    name: `${field} ${shorten(text)}`,
    body: call(`[${json},${JSON.stringify(sponsored)}]`),
    code: -32602,
    says,
  };
}

function mode(field: string, text: string): Malformed {
  const json = JSON.stringify({ ...sponsored, [field]: 'HERE' }).replace('"HERE"', () => text);
  return {
    name: `mode object, ${field} ${shorten(text)}`,
    body: call(`[${JSON.stringify(anOperation())},${json}]`),
    code: -32602,
    says: field,
  };
}

function call(paramsText: string): string {
  return `{"jsonrpc":"2.0","id":1,"method":"pm_sponsorUserOperation","params":${paramsText}}`;
}

function shorten(text: string): string {
  const shown = JSON.stringify(text);
  return shown.length > 60 ? `${shown.slice(0, 40)}… (${text.length})` : shown;
}
