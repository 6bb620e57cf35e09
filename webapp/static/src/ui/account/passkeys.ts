/** Passkeys (WebAuthn): made and used by the browser, checked by the server. */

import { say } from "../../i18n";
import { ask, Refusal } from "../lib/api";

/** Whether this browser can, at this address: passkeys belong to a name, not to a number. */
export function passkeysWork(): boolean {
  const named = !/^[\d.]+$|^\[/.test(location.hostname);
  const known = "PublicKeyCredential" in window && "parseCreationOptionsFromJSON" in PublicKeyCredential;
  return named && known && window.isSecureContext;
}

/** Makes a passkey for who is signed in. Throws a Refusal. */
export async function makePasskey(name: string): Promise<void> {
  const options = (await ask(
    "POST",
    "/api/account/passkeys/options",
  )) as PublicKeyCredentialCreationOptionsJSON;
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await given(navigator.credentials.create({ publicKey }));
  await ask("POST", "/api/account/passkeys", { name, credential });
}

/** Signs in by whichever passkey somebody chooses. Throws a Refusal. */
export async function usePasskey(): Promise<void> {
  const options = (await ask(
    "POST",
    "/api/sign-in/passkey/options",
  )) as PublicKeyCredentialRequestOptionsJSON;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await given(navigator.credentials.get({ publicKey }));
  await ask("POST", "/api/sign-in/passkey", { credential });
}

/** The device's answer; people say no, and devices have none. */
async function given(asked: Promise<Credential | null>): Promise<unknown> {
  const credential = await asked.catch(() => null);
  if (!(credential instanceof PublicKeyCredential)) throw new Refusal(say.account.noPasskey);
  return credential.toJSON();
}
