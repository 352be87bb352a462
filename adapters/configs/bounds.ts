import { maxConfigBytes, maxContracts, type PaymasterConfig } from '../../core/config/paymaster-config.js';
import { invalidInput } from '../../core/errors.js';

/** Throws INVALID_INPUT when a config has more contracts than may be served. */
export function checkContracts({ paymasterId, contracts }: PaymasterConfig): void {
  if (contracts.length <= maxContracts) return;
  throw invalidInput({
    field: `paymaster ${paymasterId}: contracts`,
    expected: `at most ${maxContracts}`,
    value: String(contracts.length),
  });
}

/** Throws INVALID_INPUT when the text of a config, named by `field`, is too large to be served. */
export function checkSize(field: string, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxConfigBytes) return;
  throw invalidInput({
    field,
    expected: `at most ${maxConfigBytes} bytes: register fewer contracts or methods`,
    value: String(bytes),
  });
}
