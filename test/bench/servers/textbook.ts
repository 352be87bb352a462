import { AbiCoder, concat, getBytes, Interface, keccak256, Wallet } from 'ethers';
import express from 'express';
import {
  chainId,
  expirySeconds,
  fundingAddress,
  paymaster,
  signerKey,
  sponsoredAbi,
  sponsoredContract,
  sponsoredMethod,
} from '../fixture.js';
import { serveSubject } from './subject.js';

/**
 * (b) A textbook server: express with its JSON parser, ethers for decoding, hashing and signing. It checks the whitelist,
 * and has no authentication, counters or metrics.
 */
const coder = AbiCoder.defaultAbiCoder();
const wallet = new Wallet(signerKey);
const account = new Interface([
  'function execute(address dest, uint256 value, bytes func)',
  'function executeBatch(address[] dest, bytes[] func)',
]);
const contract = new Interface(sponsoredAbi);

type WireOperation = Readonly<Record<string, string>>;

const app = express();
app.use(express.json());
app.post('/api/v2/:chainId/:apiKey', async (request, response) => {
  const { id, params } = request.body as { id: number; params: [WireOperation] };
  const op = params[0];
  const isSponsored = callsOf(op['callData'] ?? '0x').every(isWhitelisted);
  response.json({
    jsonrpc: '2.0',
    id,
    result: {
      mode: 'SPONSORED',
      MODE: 'SPONSORED',
      paymasterAndData: isSponsored ? await sponsor(op) : '0x',
      preVerificationGas: String(Number(op['preVerificationGas'])),
      verificationGasLimit: Number(op['verificationGasLimit']),
      callGasLimit: Number(op['callGasLimit']),
    },
  });
});

await serveSubject(app);

type InnerCall = { readonly target: string; readonly data: string };

function callsOf(callData: string): readonly InnerCall[] {
  const call = account.parseTransaction({ data: callData });
  if (call === null) return [];
  if (call.name === 'execute') return [{ target: String(call.args[0]), data: String(call.args[2]) }];
  const targets = call.args[0] as readonly string[];
  const calls = call.args[1] as readonly string[];
  return targets.map((target, index) => ({ target, data: calls[index] ?? '0x' }));
}

function isWhitelisted({ target, data }: InnerCall): boolean {
  return target === sponsoredContract && contract.parseTransaction({ data })?.name === sponsoredMethod;
}

async function sponsor(op: WireOperation): Promise<string> {
  const validUntil = Math.floor(Date.now() / 1000) + expirySeconds;
  const validAfter = validUntil - expirySeconds - 60;
  const hash = keccak256(
    coder.encode(
      [
        'address',
        'uint256',
        'bytes32',
        'bytes32',
        'uint256',
        'uint256',
        'uint256',
        'uint256',
        'uint256',
        'uint256',
        'address',
        'address',
        'uint48',
        'uint48',
      ],
      [
        op['sender'],
        op['nonce'],
        keccak256(op['initCode'] ?? '0x'),
        keccak256(op['callData'] ?? '0x'),
        op['callGasLimit'],
        op['verificationGasLimit'],
        op['preVerificationGas'],
        op['maxFeePerGas'],
        op['maxPriorityFeePerGas'],
        chainId,
        paymaster,
        fundingAddress,
        validUntil,
        validAfter,
      ],
    ),
  );
  const signature = await wallet.signMessage(getBytes(hash));
  const tail = coder.encode(
    ['address', 'uint48', 'uint48', 'bytes'],
    [fundingAddress, validUntil, validAfter, signature],
  );
  return concat([paymaster, tail]);
}
