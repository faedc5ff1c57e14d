"""Signs in with the published SDK, and prints what the server says about the caller, as one JSON object.

Usage: sign_in.py HOST:PORT MODE [ID SECRET]

With mode `pkce`, it then replaces its access token by one that is refused, and asks again.
"""

import json
import sys

import keyring
from flyteidl.service.identity_pb2 import UserInfoRequest
from flyteidl.service.identity_pb2_grpc import IdentityServiceStub
from flytekit.configuration import AuthType, Config, PlatformConfig
from flytekit.remote import FlyteRemote
from keyring.backend import KeyringBackend

ENDPOINT, MODE = sys.argv[1:3]
MODES = {"client": AuthType.CLIENTSECRET, "pkce": AuthType.PKCE, "device": AuthType.DEVICEFLOW}


class InMemory(KeyringBackend):
    """Keeps the tokens of the SDK, in place of the keyring of the machine."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.kept = {}

    def get_password(self, service, username):
        return self.kept.get((service, username))

    def set_password(self, service, username, password):
        self.kept[service, username] = password


def connect() -> FlyteRemote:
    platform = PlatformConfig(endpoint=ENDPOINT, insecure=True, auth_mode=MODES[MODE])
    if MODE == "client":
        platform = PlatformConfig(
            endpoint=ENDPOINT,
            insecure=True,
            auth_mode=MODES[MODE],
            client_id=sys.argv[3],
            client_credentials_secret=sys.argv[4],
        )
    return FlyteRemote(Config(platform=platform), default_project="flytesnacks", default_domain="development")


def subject(remote: FlyteRemote) -> str:
    return IdentityServiceStub(remote.client._channel).UserInfo(UserInfoRequest()).subject


def main() -> None:
    keyring.set_keyring(InMemory())
    remote = connect()
    projects = [project.id for project in remote.list_projects()]
    said = {"subject": subject(remote), "projects": projects}
    if MODE == "pkce":
        refresh_token = keyring.get_password(ENDPOINT, "refresh_token")
        keyring.set_password(ENDPOINT, "access_token", "expired")
        said["refreshed"] = subject(connect())
        said["rotated"] = keyring.get_password(ENDPOINT, "refresh_token") != refresh_token
    print(json.dumps(said), flush=True)


main()
