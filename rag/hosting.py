"""Hosting: is this a public host, where a stranger's question could spend the owner's money?"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

HOST_VARIABLES = {
    "SPACE_ID": "a Hugging Face Space",
    "RENDER": "Render",
    "VERCEL": "Vercel",
    "FLY_APP_NAME": "Fly.io",
    "K_SERVICE": "Cloud Run",
    "RAILWAY_ENVIRONMENT": "Railway",
    "DYNO": "Heroku",
    "WEBSITE_SITE_NAME": "Azure App Service",
    "AWS_LAMBDA_FUNCTION_NAME": "AWS Lambda",
}


def hosting_platform(environ: Mapping[str, str], bind_address: str) -> str | None:
    """The host this runs on in words; None on a machine that only its owner reaches.

    An address that is not loopback counts as a host, whatever the platform.
    """
    for variable, name in HOST_VARIABLES.items():
        if environ.get(variable, "").strip():
            return name
    return None if is_loopback(bind_address) else "a public address"


def is_loopback(address: str) -> bool:
    """Whether only this machine can connect to the address."""
    if address.strip().casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip().strip("[]")).is_loopback
    except ValueError:
        return False
