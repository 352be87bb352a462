import { parentPort } from 'node:worker_threads';
import { fastKeccak } from '../../core/crypto/keccak.js';
import { readMethods } from '../../core/resources/abi.js';
import type { AskedMethods } from './methods-thread.js';

const port = parentPort;
port?.on('message', ({ abi, whitelistedMethods }: AskedMethods) => {
  void fastKeccak.then(() => port.postMessage(readMethods(abi, whitelistedMethods)));
});
