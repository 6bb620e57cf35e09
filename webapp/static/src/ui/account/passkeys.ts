/** Passkeys (WebAuthn): made and used by the browser, checked by the server. */

import { say } from "../../i18n";
import { Refusal, requestJson } from "../lib/api";

/** Whether this browser can, at this address: passkeys belong to a name, not to a number. */
export function passkeysWork(): boolean {
  const named = !/^[\d.]+$|^\[/.test(location.hostname);
  const supported = "PublicKeyCredential" in window && "parseCreationOptionsFromJSON" in PublicKeyCredential;
  return named && supported && window.isSecureContext;
}

/** Makes a passkey for who is signed in. Throws a Refusal. */
export async function makePasskey(name: string): Promise<void> {
  const options = (await requestJson(
    "POST",
    "/api/account/passkeys/options",
  )) as PublicKeyCredentialCreationOptionsJSON;
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await requireCredential(navigator.credentials.create({ publicKey }));
  await requestJson("POST", "/api/account/passkeys", { name, credential });
}

/** Signs in by whichever passkey somebody chooses. Throws a Refusal. */
export async function usePasskey(): Promise<void> {
  const options = (await requestJson(
    "POST",
    "/api/sign-in/passkey/options",
  )) as PublicKeyCredentialRequestOptionsJSON;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await requireCredential(navigator.credentials.get({ publicKey }));
  await requestJson("POST", "/api/sign-in/passkey", { credential });
}

/** The device's answer; people say no, and devices have none. */
async function requireCredential(asked: Promise<Credential | null>): Promise<unknown> {
  const credential = await asked.catch(() => null);
  if (!(credential instanceof PublicKeyCredential)) throw new Refusal(say.account.noPasskey);
  return credential.toJSON();
}
