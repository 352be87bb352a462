/** Stops the servers that the setup started. */
export default async function stopKubernetesMode(): Promise<void> {
  await globalThis.stopKubernetesMode?.();
}
