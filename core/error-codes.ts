/** What is answered over REST: the HTTP status, and what the service document says beyond it. */
export type RestRow = {
  readonly status: number;
  /** `statusCode` of the body where the service document shows one that differs from the HTTP status. */
  readonly bodyStatus?: number;
  /** Fixed by the service document. Absent: the error's own message. */
  readonly message?: string;
  readonly retryAfterSeconds?: number;
};

/** What is answered over JSON-RPC: the code, the HTTP status of a single call, and whether the same request may succeed later. */
export type RpcRow = { readonly code: number; readonly status: number; readonly retryable: boolean };

type Row = {
  /** What has happened. */
  readonly text: string;
  /** What the caller can do. */
  readonly remedy: string;
  /** Absent: this edge never publishes it, and answers an internal error. */
  readonly rest?: RestRow;
  readonly rpc?: RpcRow;
};

const readMessage = 'Correct what the message names.';
const listedToken = 'Name a token of pm_supportedERC20Tokens.';
const otherName = 'Choose another one.';
const invalidParams = { code: -32602, status: 400, retryable: false } as const;

/**
 * Closed, published catalogue of everything that can go wrong; a refusal to sponsor is not an error: see `refusal.ts`. What
 * the edges answer, OpenRPC and `docs/errors.md` come from it. JSON-RPC answers HTTP 400 rather than 200 or 5xx: the vendor's
 * SDK drops the message of a 2xx answer, and viem repeats a request after a 5xx answer.
 */
export const errorCodes = {
  INVALID_INPUT: {
    text: 'A field, member or parameter is wrong.',
    remedy: readMessage,
    rest: { status: 400 },
    rpc: invalidParams,
  },
  NOT_FOUND: {
    text: 'What the path, the query or the body names does not exist, or is not of the caller.',
    remedy: 'Check the id, and whose token is sent.',
    rest: { status: 404 },
  },
  ALREADY_EXISTS: { text: 'The name is taken.', remedy: otherName, rest: { status: 400 } },
  WRITE_CONFLICT: {
    text: 'Others changed the object meanwhile.',
    remedy: 'Try again.',
    rest: {
      status: 503,
      message: 'The resource is being changed by others, try again',
      retryAfterSeconds: 1,
    },
  },
  PRECONDITION_FAILED: {
    text: 'The object is another one than If-Match names, or has changed since.',
    remedy: 'Read it again, and decide again.',
    rest: { status: 412 },
  },
  OBJECT_EXISTS: {
    text: 'An object of the organisation is there already, which the message names.',
    remedy: 'Change that one, or choose another name.',
    rest: { status: 409 },
  },
  IDEMPOTENCY_KEY_REUSED: {
    text: 'Another request was sent with this Idempotency-Key.',
    remedy: 'Use a new key for each request.',
    rest: { status: 422 },
  },
  IDEMPOTENCY_REPLAY: {
    text: 'The request with this Idempotency-Key was done, and its answer is not kept; or it is being done.',
    remedy: 'Read what it has made. What holds a secret is shown once: make a new one.',
    rest: { status: 409 },
  },
  PAYMASTER_IN_USE: {
    text: 'Contracts or policies belong to the paymaster, which the message names.',
    remedy: 'Delete them with it by cascade=true (`--cascade`), or delete them first.',
    rest: { status: 409 },
  },
  DELETION_UNFINISHED: {
    text: 'The paymaster is deleted and still served, so what belongs to it is still there.',
    remedy: 'Repeat the call: it goes on with what is left.',
    rest: { status: 503, retryAfterSeconds: 2 },
  },
  TOKEN_NOT_ADOPTABLE: {
    text: 'The token ends with no other one, or the own token ends with it.',
    remedy: 'Adopt tokens that a token has made, with one that does not end with them.',
    rest: { status: 409 },
  },
  KEY_OVERLAPS: {
    text: 'The key before the present one still works, and another key would end it.',
    remedy: 'Wait until it ends, or leave out the overlap: then both end at once.',
    rest: { status: 409 },
  },
  FIELD_OWNED: {
    text: 'Another manager, such as a manifest, owns a field that would change.',
    remedy: 'Change it there.',
    rest: { status: 409 },
  },
  PAYLOAD_TOO_LARGE: {
    text: 'The body is too large.',
    remedy: 'Send less; the message says how much is read.',
    rest: { status: 413 },
    rpc: { code: -32600, status: 413, retryable: false },
  },
  RATE_LIMITED: {
    text: 'Too many requests, or too much at once.',
    remedy: 'Wait for as many seconds as Retry-After says.',
    rest: { status: 429, message: 'Too many requests, try again later', retryAfterSeconds: 1 },
    rpc: { code: -32005, status: 429, retryable: true },
  },
  UNAVAILABLE: {
    text: 'Something that the answer needs does not answer, or is busy.',
    remedy: 'Try again; over JSON-RPC the reason says what is away.',
    rest: {
      status: 503,
      message: 'The service is temporarily unavailable, try again',
      retryAfterSeconds: 1,
    },
    rpc: { code: -32003, status: 400, retryable: true },
  },
  INTERNAL: {
    text: 'A fault of the service.',
    remedy: 'Quote the request id to the operator of the service.',
    rest: { status: 500, message: 'Internal error' },
    rpc: { code: -32603, status: 400, retryable: true },
  },
  CREDENTIALS_REQUIRED: {
    text: 'A header is missing, or belongs to nobody.',
    remedy: 'Send the headers that the message names.',
    rest: { status: 401 },
    rpc: { code: -32001, status: 401, retryable: false },
  },
  SCOPE_REQUIRED: {
    text: 'The token may not do this.',
    remedy: 'Use a token with a scope that the message names.',
    rest: { status: 403 },
  },
  PAYMASTER_NAME_EXISTS: {
    text: 'The chain has a paymaster of this name.',
    remedy: otherName,
    rest: { status: 400, message: 'paymaster_name_exists' },
  },
  CHAIN_NOT_SUPPORTED: {
    text: 'The chain is not offered to the organisation.',
    remedy: 'Use another chain, or ask the platform.',
    rest: { status: 400, message: 'Chain ID not supported' },
  },
  VERSION_NOT_SUPPORTED: {
    text: 'The chain does not offer the version.',
    remedy: 'Use one of the versions that the message lists.',
    rest: { status: 400 },
  },
  CONTRACT_EXISTS: {
    text: 'The contract is registered already.',
    remedy: 'Update it.',
    rest: { status: 400, message: 'Smart contract address already exists' },
  },
  CONTRACT_NOT_FOUND: {
    text: 'The contract is not registered.',
    remedy: 'Check the address, and which apiKey is sent.',
    // "The body's `statusCode` is shown as 400" under HTTP 404: documented so, and read by clients.
    rest: { status: 404, bodyStatus: 400, message: 'Smart contract not found' },
  },
  METHODS_NOT_AN_ARRAY: {
    text: 'whitelistedMethods is not a list.',
    remedy: readMessage,
    rest: { status: 400, message: 'whitelistedMethods must be an array' },
  },
  POLICY_NOT_FOUND: {
    text: 'The paymaster has no policy of this id.',
    remedy: 'Check the id, and which apiKey is sent.',
    rest: { status: 404, message: 'Paymaster Policy not found' },
  },
  POLICY_KIND_MISMATCH: {
    text: 'The policy is of another kind.',
    remedy: 'Send the id of a spending limit.',
    rest: { status: 400 },
  },
  INVALID_SIGNATURE: {
    text: 'The wallet has not signed the latest funding message.',
    remedy: 'Ask for a new message and sign that.',
    rest: { status: 400, message: 'Invalid signature' },
  },
  USER_NOT_FOUND: {
    text: 'A header of a request for a funding wallet belongs to nobody.',
    remedy: 'Check authToken, apiKey and paymasterId.',
    rest: { status: 404, message: 'User not found' },
  },
  QUOTA_EXCEEDED: {
    text: 'There are as many objects as there may be.',
    remedy: 'Delete what is not needed, or ask the platform to raise the quota.',
    rest: { status: 400 },
  },
  LEDGER_OFF: {
    text: 'No ledger is kept here.',
    remedy: 'Ask the platform to keep one.',
    rest: { status: 501 },
  },
  EXPLANATIONS_OFF: {
    text: 'The dashboard knows no JSON-RPC server that could explain.',
    remedy: 'Ask the platform to set PAYMASTER_JSON_RPC_URL.',
    rest: { status: 501 },
  },
  RPC_PARSE_ERROR: {
    text: 'The body is not JSON.',
    remedy: 'Send JSON.',
    rpc: { code: -32700, status: 400, retryable: false },
  },
  RPC_INVALID_REQUEST: {
    text: 'The request is not JSON-RPC 2.0.',
    remedy: readMessage,
    rpc: { code: -32600, status: 400, retryable: false },
  },
  RPC_METHOD_NOT_FOUND: {
    text: 'No method has this name.',
    remedy: 'Use one of the methods that the message lists.',
    rpc: { code: -32601, status: 400, retryable: false },
  },
  KEY_UNKNOWN: {
    text: 'The apiKey is missing or unknown.',
    remedy: 'Send the apiKey of the paymaster, in the address or as a header.',
    rpc: { code: -32001, status: 401, retryable: false },
  },
  CHAIN_MISMATCH: {
    text: 'The apiKey belongs to another chain.',
    remedy: 'Use the chain that the message names.',
    rpc: invalidParams,
  },
  MODE_NOT_AVAILABLE: {
    text: 'The version of the paymaster has no token payments.',
    remedy: 'Use the mode SPONSORED.',
    rpc: invalidParams,
  },
  FEE_TOKEN_REQUIRED: {
    text: 'The mode ERC20 needs the address of a token.',
    remedy: listedToken,
    rpc: invalidParams,
  },
  FEE_TOKEN_UNSUPPORTED: {
    text: 'The token is not served.',
    remedy: listedToken,
    rpc: invalidParams,
  },
  ESTIMATION_FAILED: {
    text: 'The operation fails when it is simulated.',
    remedy: 'Correct the operation; the message says how it fails.',
    rpc: { code: -32004, status: 400, retryable: false },
  },
  ORIGIN_NOT_ALLOWED: {
    text: 'A web page asks whose origin is not among allowedOrigins of the paymaster.',
    remedy: 'The owner adds the origin of the page to spec.allowedOrigins.',
    rpc: { code: -32001, status: 403, retryable: false },
  },
  NETWORK_NOT_ALLOWED: {
    text: 'The key has cidrs, and the request comes from an address outside of them.',
    remedy: 'The owner adds the network to cidrs of the key, in spec.keys.',
    rpc: { code: -32001, status: 403, retryable: false },
  },
  SPONSORSHIP_REFUSED: {
    text: 'A refusal where the form of the request has no other answer: in mode ERC20, and in the forms of ERC-7677.',
    remedy: 'Do what the reason asks for.',
    // ERC-7769: "paymaster rejected".
    rpc: { code: -32501, status: 400, retryable: false },
  },
  OPERATION_NOT_OURS: {
    text: 'The service has not promised to pay for this operation, and passes no others to its bundlers.',
    remedy:
      'Send the operation exactly as it was sponsored, with the key that sponsored it; others to a bundler of your own.',
    rpc: { code: -32501, status: 400, retryable: false },
  },
  BUNDLER_REFUSED: {
    text: 'The bundler has answered with an error: its own code and data, and its message without URLs.',
    remedy: 'Read the message; codes are those of ERC-7769.',
    rpc: { code: -32500, status: 400, retryable: false },
  },
  PAYMASTER_NOT_READY: {
    text: 'The paymaster cannot sign at the moment.',
    remedy: 'Try again later; the owner finds the reason in its conditions.',
    rest: { status: 409 },
    rpc: { code: -32006, status: 400, retryable: true },
  },
} as const satisfies Record<string, Row>;
export type ErrorCode = keyof typeof errorCodes;

export function findRestRow(code: ErrorCode): RestRow {
  const row: Row = errorCodes[code];
  return row.rest ?? errorCodes.INTERNAL.rest;
}

/** The errors of JSON-RPC, by code of the catalogue. */
export const rpcRows: ReadonlyMap<ErrorCode, RpcRow & Pick<Row, 'text'>> = new Map(
  Object.entries<Row>(errorCodes).flatMap(([code, { rpc, text }]) =>
    rpc === undefined ? [] : [[code as ErrorCode, { ...rpc, text }]],
  ),
);
