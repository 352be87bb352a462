import { randomBytes } from 'node:crypto';
import { Wallet } from 'ethers';

/** A wallet of a random key. `Wallet.createRandom` derives it from words, which takes fifteen times as long. */
export function newWallet(): Wallet {
  return new Wallet(`0x${randomBytes(32).toString('hex')}`);
}
