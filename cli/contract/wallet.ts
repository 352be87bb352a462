import { Wallet } from 'ethers/wallet';
import { notAKey, parseKey, readKeyFile } from '../../adapters/signer/file/key-file.js';
import { DomainError, messageOf } from '../../core/errors.js';

/** The account of a key file, which only its owner may read. Throws INVALID_INPUT, and never quotes the content. */
export async function readWallet(file: string): Promise<Wallet> {
  const text = await readKeyFile(file, 'owner').catch((cause: unknown) => {
    if (cause instanceof DomainError) throw cause;
    throw new DomainError('INVALID_INPUT', `${file} cannot be read: ${messageOf(cause)}`, { cause });
  });
  const key = parseKey(text, file);
  try {
    return new Wallet(`0x${Buffer.from(key).toString('hex')}`);
  } catch {
    // Zero, or not below the order of the curve; the message of others might quote it.
    throw notAKey(file);
  }
}
