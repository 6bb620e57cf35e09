/** Passkeys (WebAuthn): created and used by the browser, verified by the server. */

import { say } from "../../i18n";
import { Refusal, requestJson } from "../lib/api";

/** Whether this browser supports passkeys at this address: they need a host name, not an IP address. */
export function passkeysWork(): boolean {
  const named = !/^[\d.]+$|^\[/.test(location.hostname);
  const supported = "PublicKeyCredential" in window && "parseCreationOptionsFromJSON" in PublicKeyCredential;
  return named && supported && window.isSecureContext;
}

/** Creates a passkey for the signed-in person. Throws a Refusal. */
export async function makePasskey(name: string): Promise<void> {
  const options = (await requestJson(
    "POST",
    "/api/account/passkeys/options",
  )) as PublicKeyCredentialCreationOptionsJSON;
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await requireCredential(navigator.credentials.create({ publicKey }));
  await requestJson("POST", "/api/account/passkeys", { name, credential });
}

/** Signs in by the passkey that the person chooses. Throws a Refusal. */
export async function usePasskey(): Promise<void> {
  const options = (await requestJson(
    "POST",
    "/api/sign-in/passkey/options",
  )) as PublicKeyCredentialRequestOptionsJSON;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await requireCredential(navigator.credentials.get({ publicKey }));
  await requestJson("POST", "/api/sign-in/passkey", { credential });
}

/** Returns the device's answer; throws if the person declines, or the device has no passkey. */
async function requireCredential(asked: Promise<Credential | null>): Promise<unknown> {
  const credential = await asked.catch(() => null);
  if (!(credential instanceof PublicKeyCredential)) throw new Refusal(say.account.noPasskey);
  return credential.toJSON();
}
