import { parentPort, workerData } from 'node:worker_threads';
import { fastKeccak } from '../../core/crypto/keccak.js';
import { readMethods } from '../../core/resources/abi.js';
import type { AskedMethods } from './methods-thread.js';

await fastKeccak;
const { abi, whitelistedMethods } = workerData as AskedMethods;
parentPort?.postMessage(readMethods(abi, whitelistedMethods));
