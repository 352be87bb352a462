import { parentPort } from 'node:worker_threads';
import { fastKeccak } from '../../core/crypto/keccak.js';
import { readMethods } from '../../core/resources/abi.js';
import type { MethodsQuestion } from './methods-thread.js';

const port = parentPort;
port?.on('message', ({ abi, whitelistedMethods }: MethodsQuestion) => {
  void fastKeccak.then(() => port.postMessage(readMethods(abi, whitelistedMethods)));
});
