/** Members that several records of the service document have. */
export const text = { type: 'string' } as const;
export const chainId = { type: 'integer', minimum: 1 } as const;
export const uuid = {
  type: 'string',
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
} as const;
export const address = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' } as const;

export const exampleAddress = '0xD9320514462f98Cf03c32d2FB3d3C608bBCd8F55';
export const examplePaymasterId = '3f0f2c2e-8f0a-5b7c-9a51-0f3b1f1f6a11';
