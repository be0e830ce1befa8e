"""Pictures: style transfer, super-resolution, an autoencoder with a codebook."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
import torch.nn as nn
import torch.nn.functional as F

from benchmarks.programs.registry import program


def gram_matrix(features):
    batch, channels, height, width = features.size()
    flat = features.view(batch * channels, height * width)
    return torch.mm(flat, flat.t()).div(batch * channels * height * width)


class ContentLoss(nn.Module):
    """Passes its input on, and keeps how far it is from the target."""

    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, features):
        self.loss = F.mse_loss(features, self.target)
        return features


class StyleLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = gram_matrix(target).detach()

    def forward(self, features):
        self.loss = F.mse_loss(gram_matrix(features), self.target)
        return features


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean, self.std = torch.tensor(mean).view(-1, 1, 1), torch.tensor(std).view(-1, 1, 1)

    def forward(self, image):
        return (image - self.mean) / self.std


def backbone():
    widths = (3, 16, 16, 32, 32)
    layers = []
    for i, (inside, outside) in enumerate(pairwise(widths)):
        layers += [nn.Conv2d(inside, outside, 3, padding=1), nn.ReLU(inplace=True)]
        if i == 1:
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers).eval().requires_grad_(False)


def style_model(cnn, style, content):
    """The layers of `cnn` with a loss behind each convolution, and the lists of these losses."""
    model = nn.Sequential(Normalization([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    content_losses, style_losses = [], []
    i = 0
    for layer in cnn.children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = f"conv_{i}"
        elif isinstance(layer, nn.ReLU):
            name = f"relu_{i}"
            layer = nn.ReLU(inplace=False)
        else:
            name = f"pool_{i}"
        model.add_module(name, layer)
        if name == "conv_4":
            content_losses.append(ContentLoss(model(content)))
            model.add_module(f"content_loss_{i}", content_losses[-1])
        if name.startswith("conv"):
            style_losses.append(StyleLoss(model(style)))
            model.add_module(f"style_loss_{i}", style_losses[-1])
    return model, style_losses, content_losses


@program(steps=12)
def style_transfer(tick, steps):
    """A step is a step of LBFGS on the picture, with up to 4 evaluations of the closure."""
    style, content = torch.rand(1, 3, 48, 48), torch.rand(1, 3, 48, 48)
    image = content.clone().requires_grad_(True)
    model, style_losses, content_losses = style_model(backbone(), style, content)
    model.eval()
    model.requires_grad_(False)
    optimizer = torch.optim.LBFGS([image], max_iter=4)
    run = [0]
    for _ in range(steps):

        def closure():
            with torch.no_grad():
                image.clamp_(0, 1)
            optimizer.zero_grad()
            model(image)
            style_score, content_score = 0, 0
            for part in style_losses:
                style_score += part.loss
            for part in content_losses:
                content_score += part.loss
            style_score *= 1000.0
            content_score *= 1.0
            loss = style_score + content_score
            loss.backward()
            run[0] += 1
            return style_score + content_score

        tick(optimizer.step(closure).item())
    with torch.no_grad():
        image.clamp_(0, 1)
    return [image]


class SuperResolution(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 32, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(32, 32, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(32, 16, (3, 3), (1, 1), (1, 1))
        self.conv4 = nn.Conv2d(16, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        for conv in (self.conv1, self.conv2, self.conv3):
            nn.init.orthogonal_(conv.weight, nn.init.calculate_gain("relu"))
        nn.init.orthogonal_(self.conv4.weight)

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))


@program(steps=60)
def super_resolution(tick, steps):
    model = SuperResolution(3)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    large = torch.rand(24, 1, 60, 60)
    small = F.interpolate(large, scale_factor=1 / 3, mode="bicubic", align_corners=False)
    training, testing = list(zip(small[:20].split(4), large[:20].split(4))), (small[20:], large[20:])
    step = 0
    while step < steps:
        epoch_loss = 0.0
        for source, target in training:
            optimizer.zero_grad()
            loss = criterion(model(source), target)
            epoch_loss += loss.item()
            loss.backward()
            optimizer.step()
            tick(loss.item())
            step += 1
        with torch.no_grad():
            mse = criterion(model(testing[0]), testing[1])
            10 * math.log10(1 / mse.item())
    return model.parameters()


class VectorQuantizer(nn.Module):
    """The nearest entry of a codebook; entries follow what is near them by a moving average."""

    def __init__(self, entries, size, decay=0.99, epsilon=1e-5):
        super().__init__()
        self.decay, self.epsilon, self.entries = decay, epsilon, entries
        embedding = torch.randn(size, entries)
        self.register_buffer("embedding", embedding)
        self.register_buffer("cluster_size", torch.zeros(entries))
        self.register_buffer("average", embedding.clone())

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        distance = (
            flat.pow(2).sum(1, keepdim=True)
            - 2 * flat @ self.embedding
            + self.embedding.pow(2).sum(0, keepdim=True)
        )
        _, index = (-distance).max(1)
        one_hot = F.one_hot(index, self.entries).type(flat.dtype)
        index = index.view(*x.shape[:-1])
        quantized = F.embedding(index, self.embedding.transpose(0, 1))
        if self.training:
            self.cluster_size.data.mul_(self.decay).add_(one_hot.sum(0), alpha=1 - self.decay)
            self.average.data.mul_(self.decay).add_(flat.detach().t() @ one_hot, alpha=1 - self.decay)
            total = self.cluster_size.sum()
            size = (self.cluster_size + self.epsilon) / (total + self.entries * self.epsilon) * total
            self.embedding.data.copy_(self.average / size.unsqueeze(0))
        difference = (quantized.detach() - x).pow(2).mean()
        return x + (quantized - x).detach(), difference, index


class ResBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Sequential(
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 16, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(16, width, 1),
        )

    def forward(self, x):
        return self.conv(x.clone()) + x


class VQVAE(nn.Module):
    def __init__(self, width=32, size=16, entries=64):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width // 2, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(width // 2, width, 4, stride=2, padding=1),
            ResBlock(width),
            nn.Conv2d(width, size, 1),
        )
        self.quantize = VectorQuantizer(entries, size)
        self.decoder = nn.Sequential(
            nn.Conv2d(size, width, 3, padding=1),
            ResBlock(width),
            nn.ConvTranspose2d(width, width // 2, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(width // 2, 3, 4, stride=2, padding=1),
        )

    def forward(self, x):
        quantized, difference, _ = self.quantize(self.encoder(x).permute(0, 2, 3, 1))
        return self.decoder(quantized.permute(0, 3, 1, 2)), difference.unsqueeze(0)


@program(steps=40)
def vq_vae(tick, steps):
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    mse_sum, mse_count = 0, 0
    for _ in range(steps):
        images = torch.rand(8, 3, 32, 32)
        model.zero_grad()
        out, latent_loss = model(images)
        reconstruction = F.mse_loss(out, images)
        loss = reconstruction + 0.25 * latent_loss.mean()
        loss.backward()
        optimizer.step()
        mse_sum += reconstruction.item() * images.shape[0]
        mse_count += images.shape[0]
        f"mse: {reconstruction.item():.5f}; avg mse: {mse_sum / mse_count:.5f}"
        tick(loss.item())
    return [*model.parameters(), model.quantize.cluster_size]
