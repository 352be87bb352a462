import { toHex } from 'viem';

/** One call to the paymaster's JSON-RPC endpoint. An error's message says what to do about it. */
async function call(rpcUrl, method, params) {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = await response.json();
  if (error !== undefined) throw new Error(`${method}: ${error.data?.reason} ${error.message}`);
  return result;
}

/** Lets the paymaster pay. `paymasterAndData: "0x"` is a refusal, and `reason` says why. */
export async function sponsor(rpcUrl, operation) {
  const result = await call(rpcUrl, 'pm_sponsorUserOperation', [wire(operation), { mode: 'SPONSORED' }]);
  if (result.paymasterAndData === '0x') throw new Error(`not sponsored: ${result.reason}`);
  return { ...operation, ...signedFields(result) };
}

/** What the operation may cost at most in one token, an `approve` in front of it included, and whom to approve. */
export async function quote(rpcUrl, operation, token) {
  const tokenInfo = { preferredToken: token, tokenList: [token] };
  const result = await call(rpcUrl, 'pm_getFeeQuoteOrData', [wire(operation), { mode: 'ERC20', tokenInfo }]);
  const [fee] = result.feeQuotes;
  if (fee === undefined) throw new Error(`no quote: ${JSON.stringify(result.unsupportedReasons)}`);
  return { ...fee, spender: result.paymasterAddress };
}

/** Lets the account pay in a token. It must hold and allow enough of it once its own calls have run. */
export async function payInTokens(rpcUrl, operation, token) {
  const mode = { mode: 'ERC20', tokenInfo: { feeTokenAddress: token } };
  const result = await call(rpcUrl, 'pm_sponsorUserOperation', [wire(operation), mode]);
  return { ...operation, ...signedFields(result) };
}

/** Quantities travel as hex; limits that are left out are estimated. */
function wire(operation) {
  return Object.fromEntries(
    Object.entries(operation).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? toHex(value) : value,
    ]),
  );
}

/** The limits that were signed, which must be used as they are, and the paymaster's fields. */
function signedFields(result) {
  const limits = {
    callGasLimit: BigInt(result.callGasLimit),
    verificationGasLimit: BigInt(result.verificationGasLimit),
    preVerificationGas: BigInt(result.preVerificationGas),
  };
  if (result.paymaster === undefined) return { ...limits, paymasterAndData: result.paymasterAndData };
  return {
    ...limits,
    paymaster: result.paymaster,
    paymasterData: result.paymasterData,
    paymasterVerificationGasLimit: BigInt(result.paymasterVerificationGasLimit),
    paymasterPostOpGasLimit: BigInt(result.paymasterPostOpGasLimit),
  };
}
