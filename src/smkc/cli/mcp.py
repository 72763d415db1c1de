"""``smkc mcp``: read access to a running service through the Model Context Protocol.

In: the address of the service, and messages on standard input. Out: answers on standard output.
"""

from typing import Annotated

import typer

from smkc.cli.failure import explained_failures
from smkc.errors import install_command, optional_module


def mcp(
    url: Annotated[
        str, typer.Option(metavar="URL", help="Address of the running smkc watch.")
    ] = "http://127.0.0.1:9469",
    token_env: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Environment variable that holds an API token with the role read."
        ),
    ] = "",
) -> None:
    """Let an AI assistant query a running **smkc watch**: alerts, causes and expected values.

    It is a server of the Model Context Protocol on standard input and output, with read access
    only. Configure your assistant to start this command.

    **Examples**

    - `smkc mcp`
    - `smkc mcp --url https://smkc.example.org --token-env SMKC_TOKEN`
    """
    with explained_failures():
        optional_module("mcp", "mcp", install_command("mcp"))
        from smkc.serve.assistant import RemoteService, server_of
        from smkc.serve.config.reaching import read_secret

        token = read_secret(token_env, None, "--token-env") if token_env else ""
        service = RemoteService(url, token)
        try:
            server_of(service).run("stdio")
        finally:
            service.close()
